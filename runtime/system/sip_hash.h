// SipHash-2-4 of 64-bit words (Aumasson and Bernstein, "SipHash: a fast
// short-input PRF", 2012). Without the key, its values cannot be told from
// random values.
//
// Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace actord::runtime {

struct SipKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};

// The paper's function of the words' bytes in little-endian order.
constexpr uint64_t SipHash(const SipKey& key, std::span<const uint64_t> words) {
  uint64_t v0 = key.k0 ^ 0x736f6d6570736575u;
  uint64_t v1 = key.k1 ^ 0x646f72616e646f6du;
  uint64_t v2 = key.k0 ^ 0x6c7967656e657261u;
  uint64_t v3 = key.k1 ^ 0x7465646279746573u;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto mix = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  for (const uint64_t word : words) mix(word);
  // The last block holds the number of bytes, modulo 256, in its highest one.
  mix(uint64_t{words.size() * sizeof(uint64_t)} << 56);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace actord::runtime
