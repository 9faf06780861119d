// Page tokens: opaque texts for the position at which the next page of a list
// begins.
//
// A token is valid only for its list and filter, and only in this run of the
// daemon. Any other token is refused, because it would list the wrong items.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace actord::daemon {

// `scope` is any hash over the list, its filter and the daemon's incarnation.
std::string MakePageToken(uint64_t position, uint64_t scope);
// Returns the position of `token`; "" is position 0. INVALID_ARGUMENT (reason
// INVALID_PAGE_TOKEN): the token was not made with `scope`.
absl::StatusOr<uint64_t> ReadPageToken(std::string_view token, uint64_t scope);

}  // namespace actord::daemon
