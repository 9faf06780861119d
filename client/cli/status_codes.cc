#include "client/cli/status_codes.h"

#include <strings.h>

#include "absl/status/status.h"
#include "client/output/exit_status.h"

namespace actord::client {

absl::StatusOr<int> ParseStatusCode(const std::string& text) {
  constexpr int kFirst = 1;
  constexpr int kLast = 16;
  for (int code = kFirst; code <= kLast; ++code) {
    const std::string name =
        absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
    if (strcasecmp(name.c_str(), text.c_str()) == 0 ||
        text == std::to_string(code)) {
      return code;
    }
  }
  return UsageError("\"" + text +
                    "\" is not an error code such as NOT_FOUND or ABORTED");
}

}  // namespace actord::client
