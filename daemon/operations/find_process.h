// Finds the process that a request addresses, for the caller of the request.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/access/access.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// The PID of the process. A name means a process of the caller's own owner,
// unless the address names an owner. NAME_NOT_FOUND: no process that the caller
// sees holds the name. Does not check a PID: the caller may not see the
// process.
absl::StatusOr<runtime::Pid> Resolve(const runtime::Runtime& runtime,
                                     const Access& access,
                                     const Address& address);
// Resolve, with an error that also says which name of the same owner may be
// meant. Compares up to 32 names, so messages, which come by the million, do
// without.
absl::StatusOr<runtime::Pid> ResolveOrSuggest(const runtime::Runtime& runtime,
                                              const Access& access,
                                              const Address& address);
// The error of a group without members: NAME_NOT_FOUND.
absl::Status NoMembers();
// The members of a group, which are all of one owner. A name means a group of
// the caller's own owner, unless the address names an owner. NAME_NOT_FOUND:
// the group has no members that the caller sees.
absl::StatusOr<std::vector<runtime::Pid>> ResolveGroup(
    const runtime::Runtime& runtime, const Access& access,
    const Address& address);
// ReadAddress, and then ResolveOrSuggest. `field`: for the error.
absl::StatusOr<runtime::Pid> FindProcess(const runtime::Runtime& runtime,
                                         const Access& access,
                                         std::string_view field,
                                         const std::string& text);
// Replaces a name in `text` by the PID of its holder, for a filter by a PID.
// Leaves any other text as it is. `field`: for the error.
absl::Status ResolveName(const runtime::Runtime& runtime, const Access& access,
                         std::string_view field, std::string* text);
// FindProcess for a call that controls the process. PERMISSION_DENIED
// (ROLE_NOT_ALLOWED): the caller sees the process and may not control it.
absl::StatusOr<runtime::Pid> FindControlled(const runtime::Runtime& runtime,
                                            const Access& access,
                                            std::string_view field,
                                            const std::string& text);

}  // namespace actord::daemon
