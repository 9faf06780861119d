#include "runtime/process/fingerprint.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace actord::runtime {
namespace {

// Makes a second key, so that the two halves are independent hashes.
constexpr uint64_t kSecondHalf = 0x6669'6e67'6572'7072;

// The word of up to 8 bytes, the lowest byte first.
uint64_t WordOf(std::string_view bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}
static_assert(std::endian::native == std::endian::little);

}  // namespace

Fingerprint FingerprintOf(const SipKey& key,
                          std::span<const std::string_view> parts) {
  size_t count = 0;
  for (const std::string_view part : parts) count += 1 + (part.size() + 7) / 8;
  std::vector<uint64_t> words;
  words.reserve(count);
  for (std::string_view part : parts) {
    words.push_back(part.size());
    for (; part.size() >= 8; part.remove_prefix(8)) {
      words.push_back(WordOf(part.substr(0, 8)));
    }
    if (!part.empty()) words.push_back(WordOf(part));
  }
  return {SipHash(key, words), SipHash({key.k0 ^ kSecondHalf, key.k1}, words)};
}

}  // namespace actord::runtime
