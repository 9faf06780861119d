// Opaque texts that name where the next page of a list begins.
//
// A token is good for the filter it was made for and for this run of the
// daemon; anything else is refused instead of listing something wrong.
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
// "" is position 0. INVALID_ARGUMENT, reason INVALID_PAGE_TOKEN.
absl::StatusOr<uint64_t> ReadPageToken(std::string_view token, uint64_t scope);

}  // namespace actord::daemon
