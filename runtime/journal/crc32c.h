// CRC-32C (Castagnoli), the checksum of RFC 3720, by Intel's ISA-L.
// docs/decisions/0040-journal.md says why.
//
// Thread-safety: a pure function.
#pragma once

#include <cstdint>
#include <string_view>

namespace actord::runtime {

// Crc32c("123456789") is 0xe3069283, and Crc32c("") is 0.
uint32_t Crc32c(std::string_view bytes);

}  // namespace actord::runtime
