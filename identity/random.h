// The system's randomness, for secrets.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace actord::identity {

// Fills `bytes` from the kernel's generator. Blocks only while the machine
// boots and the generator has no entropy yet. After an error the bytes must not
// be used.
[[nodiscard]] absl::Status FillRandom(std::span<uint8_t> bytes);

}  // namespace actord::identity
