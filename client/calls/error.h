// Errors of calls as absl::Status, with the details that actord attaches.
//
// Thread-safety: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class Status;
}

namespace actord::v1 {
class Refusal;
}

namespace actord::client {

struct FieldViolation {
  std::string field;        // path in the request, such as "input.data"
  std::string description;  // what was wrong with it
};

// What a program can act on. All members are empty for an error that did not
// come from actord itself, such as a connection that was refused.
struct ErrorDetails {
  std::string reason;  // stable, such as MAILBOX_FULL; docs/api.md lists them
  std::map<std::string, std::string> metadata;
  std::vector<FieldViolation> field_violations;
  std::optional<absl::Duration> retry_delay;  // wait this long before a retry
};

// Keeps the code, the message and the details.
absl::Status FromGrpc(const grpc::Status& status);

// Likewise why an item of a stream was refused.
absl::Status FromRefusal(const v1::Refusal& refusal);

// The details of a status made by one of these; empty ones of any other.
ErrorDetails DetailsOf(const absl::Status& status);

}  // namespace actord::client
