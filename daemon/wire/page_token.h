// Page tokens: opaque texts for the position at which the next page of a list
// begins. And ids of the entries of a list.
//
// A token is valid only for its list and filter, and only in this run of the
// daemon. Any other token is refused, because it would list the wrong items.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace actord::daemon {

// A page of entries without a bound of their own ends before the entry with
// which it would exceed this many bytes, but has at least one entry. A client
// accepts responses of 4 MiB by default.
inline constexpr size_t kMaxPageBytes = 1 << 20;

// `scope` is any hash over the list, its filter and the daemon's incarnation.
std::string MakePageToken(uint64_t position, uint64_t scope);
// Returns the position of `token`; "" is position 0. INVALID_ARGUMENT (reason
// INVALID_PAGE_TOKEN): the token was not made with `scope`.
absl::StatusOr<uint64_t> ReadPageToken(std::string_view token, uint64_t scope);

// The id of an entry of a list that lives as long as the daemon. It names the
// run, too, so that an id never means an entry of another run.
std::string FormatEntryId(uint32_t incarnation, uint64_t number);
// Reads the id in the request's field `field`. `number` stays as it is for ""
// and for an id of another run. INVALID_ARGUMENT (reason INVALID_FIELD): it is
// no such id.
absl::Status ReadEntryId(std::string_view field, std::string_view id,
                         uint32_t incarnation, uint64_t& number);

}  // namespace actord::daemon
