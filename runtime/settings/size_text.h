// Parses and formats sizes of the configuration.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace actord::runtime {

// Bytes: "4096", "64KiB", "16MiB", "1GiB" (powers of 1024), "64KB", "16MB",
// "1GB" (powers of 1000).
absl::StatusOr<uint64_t> ParseSizeText(std::string_view text);
std::string FormatSizeText(uint64_t bytes);

}  // namespace actord::runtime
