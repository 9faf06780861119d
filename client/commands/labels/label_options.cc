#include "client/commands/labels/label_options.h"

#include "client/output/exit_status.h"

namespace actord::client {

absl::Status ReadLabels(const std::vector<std::string>& texts,
                        v1::SubmitRequest& request) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError("--label " + text + " is not KEY=VALUE");
    }
    const std::string key = text.substr(0, equals);
    if (request.labels().contains(key)) {
      return UsageError("--label " + key + " is given twice");
    }
    (*request.mutable_labels())[key] = text.substr(equals + 1);
  }
  return absl::OkStatus();
}

}  // namespace actord::client
