#include "runtime/journal/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <climits>
#include <cstddef>

namespace actord::runtime {

uint32_t Crc32c(std::string_view bytes) {
  uint32_t crc = UINT32_MAX;
  // The library counts bytes in an int, and does not write to them.
  while (!bytes.empty()) {
    const size_t count = std::min<size_t>(bytes.size(), INT_MAX);
    auto* const data = const_cast<unsigned char*>(
        reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(count), crc);
    bytes.remove_prefix(count);
  }
  return ~crc;
}

}  // namespace actord::runtime
