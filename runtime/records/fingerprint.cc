#include "runtime/records/fingerprint.h"

#include <cstdint>
#include <vector>

namespace actord::runtime {
namespace {

// Makes a second key, so that the halves are hashes of their own.
constexpr uint64_t kSecondHalf = 0x6669'6e67'6572'7072;

}  // namespace

Fingerprint FingerprintOf(const SipKey& key,
                          std::span<const std::string_view> parts) {
  std::vector<uint64_t> words;
  for (const std::string_view part : parts) {
    words.push_back(part.size());
    for (size_t i = 0; i < part.size(); ++i) {
      if (i % 8 == 0) words.push_back(0);
      words.back() |= uint64_t{static_cast<unsigned char>(part[i])}
                      << (8 * (i % 8));
    }
  }
  return {SipHash(key, words), SipHash({key.k0 ^ kSecondHalf, key.k1}, words)};
}

}  // namespace actord::runtime
