// The checks that the readers of requests share. The limits on texts are in
// actord/text.h.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace actord::daemon {

inline constexpr int kMaxStatusCode = 16;

// Returns INVALID_ARGUMENT with the reason INVALID_FIELD for `field`. The
// message is "FIELD WHAT".
absl::Status Wrong(std::string_view field, std::string_view what);

// Returns Wrong if `text` has more than `max_bytes` bytes.
absl::Status CheckLength(std::string_view field, const std::string& text,
                         size_t max_bytes);

}  // namespace actord::daemon
