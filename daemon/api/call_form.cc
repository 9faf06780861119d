#include "daemon/api/call_form.h"

#include "daemon/api/json_text.h"

namespace actord::daemon {

absl::Status JsonForm::Read(std::string body,
                            google::protobuf::Message* request) {
  return ReadJson(body, request);
}

absl::StatusOr<AdminAnswer> JsonForm::Write(const std::string& bytes) {
  AdminAnswer answer;
  answer.content_type = "application/json";
  absl::Status written =
      WriteJson(method_.output_type()->full_name(), bytes, &answer.body);
  if (!written.ok()) return written;
  return answer;
}

}  // namespace actord::daemon
