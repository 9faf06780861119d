#include "daemon/api/routes/short_form.h"

#include <actord/text.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/http_status.h"
#include "daemon/api/json_text.h"
#include "daemon/wire/proto_check.h"
#include "identity/names/nearest.h"

namespace actord::daemon {
namespace {

using google::protobuf::Message;

// Adds a parameter label to the field `labels`.
absl::Status AddLabel(const Message& request, const std::string& label,
                      nlohmann::json& fields) {
  nlohmann::json& labels = fields["labels"];
  if (!request.GetDescriptor()->FindFieldByName("labels")->is_map()) {
    labels.push_back(label);
    return absl::OkStatus();
  }
  const size_t equals = label.find('=');
  if (equals == std::string::npos) {
    return Wrong("label", "must be KEY=VALUE");
  }
  const std::string key = label.substr(0, equals);
  if (labels.contains(key)) return Wrong("label", "has a key twice");
  labels[key] = label.substr(equals + 1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AdminAnswer> JsonAnswer(unsigned status,
                                       const Message& message) {
  AdminAnswer answer;
  answer.status = status;
  answer.content_type = "application/json";
  absl::Status written = WriteJson(message.GetDescriptor()->full_name(),
                                   message.SerializeAsString(), &answer.body);
  if (!written.ok()) return written;
  return answer;
}

absl::StatusOr<AdminAnswer> EventAnswer(const char* name,
                                        const Message& message) {
  absl::StatusOr<AdminAnswer> answer = JsonAnswer(kHttpOk, message);
  if (!answer.ok()) return answer;
  answer->content_type = kEventStream;
  answer->body =
      absl::StrCat("event: ", name, "\ndata: ", answer->body, "\n\n");
  return answer;
}

absl::Status ReadQueryFields(const std::string& query,
                             const std::vector<std::string>& allowed,
                             Message* request) {
  const absl::StatusOr<Parameters> parameters = ReadParameters(query, "label");
  if (!parameters.ok()) return parameters.status();
  nlohmann::json fields = nlohmann::json::object();
  for (const auto& [name, value] : *parameters) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      return Wrong(ToUtf8(name, kMaxNameBytes),
                   "is not a parameter of this route" +
                       identity::DidYouMean(name, allowed));
    }
    if (name == "label") {
      absl::Status status = AddLabel(*request, value, fields);
      if (!status.ok()) return status;
    } else {
      fields[name] = value;
    }
  }
  if (fields.empty()) return absl::OkStatus();
  return ReadJson(
      fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      request);
}

absl::Status ShortForm::ReadParts(
    std::initializer_list<std::string_view> allowed, Message* request) const {
  for (const std::string& segment : parts_.segments) {
    if (!IsUtf8(segment)) return Wrong("the path", "is not UTF-8");
  }
  return ReadQueryFields(
      parts_.query, std::vector<std::string>(allowed.begin(), allowed.end()),
      request);
}

absl::Status ShortForm::ReadKey(std::string* id) const {
  if (parts_.keys.empty()) return absl::OkStatus();
  std::string_view key = parts_.keys.front();
  if (key.size() > 1 && key.front() == '"' && key.back() == '"') {
    key = key.substr(1, key.size() - 2);
  }
  if (parts_.keys.size() > 1 || key.empty() || !IsUtf8(key)) {
    return Wrong("Idempotency-Key", "must be one text that is not empty");
  }
  *id = key;
  return absl::OkStatus();
}

absl::Status ShortForm::ReadPayload(std::string body,
                                    v1::Payload* payload) const {
  if (!IsUtf8(parts_.content_type)) {
    return Wrong("Content-Type", "is not UTF-8");
  }
  // As everywhere, "" means application/json.
  payload->set_content_type(parts_.content_type);
  *payload->mutable_data() = std::move(body);
  return absl::OkStatus();
}

}  // namespace actord::daemon
