// The common parts of the token commands. They edit a file of this machine and
// need no daemon.
//
// Thread-safety: as the invocation's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/invocation.h"
#include "client/output/json.h"
#include "identity/identity.h"
#include "identity/token_edit.h"

namespace actord::client {

// Reads --expires: a duration from `now` on, such as "90d" or "12h", or a time
// such as "2027-01-31T00:00:00Z". The result is a whole second after `now`, at
// most 100 years later. Otherwise a usage error.
absl::StatusOr<absl::Time> ParseExpiry(const std::string& text, absl::Time now);

// "never", or the time in UTC.
std::string ExpiryText(absl::Time expires);

// The members "id", "name", "role", "expires" (if the token expires), "submit",
// "send", "work" and "see".
Json TokenJson(const identity::Identity& identity);

// An edit waits for other edits of the file at `path` until the deadline of the
// command, or until it is interrupted. Borrows the invocation.
identity::EditOptions EditOptionsOf(Invocation& invocation,
                                    const std::string& path);

// Writes the error of a file of tokens and returns its exit status, which is
// that of a usage error if the content or the mode of the file is wrong.
ExitStatus FailWithFile(Invocation& invocation, const absl::Status& status);

}  // namespace actord::client
