// Parses the lines of bulk files: JSON objects whose payloads are copied byte
// for byte.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "actord/v1/process.pb.h"

namespace actord::client {

inline constexpr int kHighestPriority = 31;

// {"type"?: text, "method"?: text, "input"?: any JSON, "request_id"?: text,
//  "name"?: text, "on_name_conflict"?: "fail" or "deliver" (with a name),
//  "priority"?: 0 to kHighestPriority, "labels"?: {key: text}}.
// Absent members are taken from `defaults`; the result must have a type. The
// error about an unknown key lists the known keys.
absl::StatusOr<v1::SubmitRequest> ParseSubmitItem(
    const std::string& line, const v1::SubmitRequest& defaults);

// {"pid"?: text, "topic"?: text, "payload"?: any JSON, "message_id"?: text}.
// Absent members are taken from `defaults`; the result must have a PID.
absl::StatusOr<v1::SendRequest> ParseSendItem(const std::string& line,
                                              const v1::SendRequest& defaults);

}  // namespace actord::client
