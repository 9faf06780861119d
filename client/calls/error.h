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
  // Path in the request, such as "input.data".
  std::string field;
  // The mistake in the field.
  std::string description;
};

// The part of an error on which a program can act. All members are empty for an
// error that did not come from actord, such as a refused connection.
struct ErrorDetails {
  // Stable, such as MAILBOX_FULL; docs/api.md lists the reasons.
  std::string reason;
  std::map<std::string, std::string> metadata;
  std::vector<FieldViolation> field_violations;
  // Wait at least this long before a retry.
  std::optional<absl::Duration> retry_delay;
};

// Makes a status with the code, the message and the details of a gRPC status.
// If gRPC of the daemon has refused the request for its size, the status is
// that of actord for large payloads.
absl::Status FromGrpc(const grpc::Status& status);

// Makes a status that says why an item of a stream was refused.
absl::Status FromRefusal(const v1::Refusal& refusal);

// Whether a request that was refused with this error may succeed later if it is
// sent again unchanged: RESOURCE_EXHAUSTED, JOURNAL_BEHIND. False if the answer
// did not come (IsUnanswered).
[[nodiscard]] bool IsRefusedForNow(const absl::Status& status);

// Marks an error: the request may have been carried out, because the answer to
// it did not come. Keeps code, message and details.
absl::Status MarkUnanswered(absl::Status status);
[[nodiscard]] bool IsUnanswered(const absl::Status& status);

// The details of a status that one of these two functions made; empty details
// for any other status.
ErrorDetails DetailsOf(const absl::Status& status);

}  // namespace actord::client
