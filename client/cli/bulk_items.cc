#include "client/cli/bulk_items.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "client/output/exit_status.h"
#include "client/output/json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using Members = std::map<std::string, std::string_view>;

// Moves the text member `key`, if present, from `members` to `value`.
absl::Status TakeText(Members& members, const std::string& key,
                      std::string* value) {
  const auto member = members.extract(key);
  if (member.empty()) return absl::OkStatus();
  const Json json = Json::parse(member.mapped());
  if (!json.is_string()) return UsageError("\"" + key + "\" is not text");
  *value = json.get<std::string>();
  return absl::OkStatus();
}

absl::Status TakePriority(Members& members, v1::SubmitRequest& request) {
  const auto member = members.extract("priority");
  if (member.empty()) return absl::OkStatus();
  const Json json = Json::parse(member.mapped());
  if (!json.is_number_integer() || json < 0 || json > kHighestPriority) {
    return UsageError("\"priority\" is not a number from 0 to 31");
  }
  request.set_priority(json.get<int32_t>());
  return absl::OkStatus();
}

absl::Status TakeLabels(Members& members, v1::SubmitRequest& request) {
  const auto member = members.extract("labels");
  if (member.empty()) return absl::OkStatus();
  const absl::Status wrong = UsageError("\"labels\" is not an object of texts");
  const Json json = Json::parse(member.mapped());
  if (!json.is_object()) return wrong;
  request.clear_labels();
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return wrong;
    (*request.mutable_labels())[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

// Removes the member `key`, if present, and returns its bytes as they stand in
// the line.
std::optional<v1::Payload> TakePayload(Members& members,
                                       const std::string& key) {
  const auto member = members.extract(key);
  if (member.empty()) return std::nullopt;
  v1::Payload payload;
  payload.set_data(std::string(member.mapped()));
  return payload;
}

absl::Status TakeNameConflict(Members& members, v1::SubmitRequest& request) {
  std::string action;
  const absl::Status status = TakeText(members, "on_name_conflict", &action);
  if (!status.ok() || action.empty()) return status;
  if (action == "deliver") {
    request.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  } else if (action == "fail") {
    request.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_FAIL);
  } else {
    return UsageError(R"("on_name_conflict" is neither "fail" nor "deliver")");
  }
  if (!request.name().empty()) return absl::OkStatus();
  return UsageError(R"("on_name_conflict" needs "name")");
}

// `known` are the keys that the caller has taken, for people.
absl::Status RefuseRest(const Members& members, const std::string& known) {
  if (members.empty()) return absl::OkStatus();
  return UsageError("unknown key \"" + members.begin()->first +
                    "\"; the keys are " + known);
}

}  // namespace

absl::StatusOr<v1::SubmitRequest> ParseSubmitItem(
    const std::string& line, const v1::SubmitRequest& defaults) {
  absl::StatusOr<Members> members = SplitObject(line);
  if (!members.ok()) return members.status();
  v1::SubmitRequest request = defaults;
  absl::Status status =
      TakeText(*members, "type", request.mutable_process_type());
  status.Update(TakeText(*members, "method", request.mutable_method()));
  status.Update(TakeText(*members, "request_id", request.mutable_request_id()));
  status.Update(TakeText(*members, "name", request.mutable_name()));
  status.Update(TakeNameConflict(*members, request));
  status.Update(TakePriority(*members, request));
  status.Update(TakeLabels(*members, request));
  if (auto input = TakePayload(*members, "input")) {
    *request.mutable_input() = *std::move(input);
  }
  status.Update(RefuseRest(*members,
                           "input, labels, method, name, on_name_conflict, "
                           "priority, request_id and type"));
  if (status.ok() && request.process_type().empty()) {
    return UsageError("no \"type\", here or on the command line");
  }
  if (!status.ok()) return status;
  return request;
}

absl::StatusOr<v1::SendRequest> ParseSendItem(const std::string& line,
                                              const v1::SendRequest& defaults) {
  absl::StatusOr<Members> members = SplitObject(line);
  if (!members.ok()) return members.status();
  v1::SendRequest request = defaults;
  absl::Status status = TakeText(*members, "pid", request.mutable_pid());
  status.Update(TakeText(*members, "topic", request.mutable_topic()));
  status.Update(TakeText(*members, "message_id", request.mutable_message_id()));
  if (auto payload = TakePayload(*members, "payload")) {
    *request.mutable_payload() = *std::move(payload);
  }
  status.Update(RefuseRest(*members, "message_id, payload, pid and topic"));
  if (status.ok() && request.pid().empty()) {
    return UsageError("no \"pid\", here or on the command line");
  }
  if (!status.ok()) return status;
  return request;
}

}  // namespace actord::client
