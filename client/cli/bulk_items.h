// The lines of bulk files: JSON objects whose payloads are taken over byte for
// byte.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "actord/v1/process.pb.h"

namespace actord::client {

inline constexpr int kHighestPriority = 31;

// {"type"?: text, "method"?: text, "input"?: any JSON, "request_id"?: text,
//  "priority"?: 0 to kHighestPriority}.
// What is not there is as in `defaults`; a type there must be in the end.
absl::StatusOr<v1::SubmitRequest> ParseSubmitItem(
    const std::string& line, const v1::SubmitRequest& defaults);

// {"pid"?: text, "topic"?: text, "payload"?: any JSON}, likewise.
absl::StatusOr<v1::SendRequest> ParseSendItem(const std::string& line,
                                              const v1::SendRequest& defaults);

}  // namespace actord::client
