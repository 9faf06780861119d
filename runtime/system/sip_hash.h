// SipHash-2-4 of 64-bit words (Aumasson and Bernstein, "SipHash: a fast
// short-input PRF", 2012). Without the key, its values cannot be told from
// random values.
//
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace actord::runtime {

struct SipKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};

namespace internal {

// The state of the function between two words.
class SipState {
 public:
  constexpr explicit SipState(const SipKey& key)
      : v0_(key.k0 ^ 0x736f6d6570736575u),
        v1_(key.k1 ^ 0x646f72616e646f6du),
        v2_(key.k0 ^ 0x6c7967656e657261u),
        v3_(key.k1 ^ 0x7465646279746573u) {}

  // The only difference at the start of a hash of 128 bits.
  constexpr void StartWide() { v1_ ^= 0xee; }
  // The words, and the last block, which holds the number of bytes, modulo 256,
  // in its highest one.
  constexpr void MixAll(std::span<const uint64_t> words) {
    for (const uint64_t word : words) Mix(word);
    Mix(uint64_t{words.size() * sizeof(uint64_t)} << 56);
  }
  constexpr uint64_t Finish(uint64_t mark) {
    v2_ ^= mark;
    return Value();
  }
  // The second half of a hash of 128 bits, after Finish.
  constexpr uint64_t FinishAgain() {
    v1_ ^= 0xdd;
    return Value();
  }

 private:
  constexpr uint64_t Value() {
    Rounds(4);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }
  constexpr void Mix(uint64_t word) {
    v3_ ^= word;
    Rounds(2);
    v0_ ^= word;
  }
  constexpr void Rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0_ += v1_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v3_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ += v3_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ += v1_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  uint64_t v0_;
  uint64_t v1_;
  uint64_t v2_;
  uint64_t v3_;
};

}  // namespace internal

// The paper's function of the words' bytes in little-endian order.
constexpr uint64_t SipHash(const SipKey& key, std::span<const uint64_t> words) {
  internal::SipState state(key);
  state.MixAll(words);
  return state.Finish(0xff);
}

// The same with a result of 128 bits, as the authors' reference code computes
// it: [0] has the first eight bytes. It is no concatenation of two SipHash.
constexpr std::array<uint64_t, 2> SipHash128(const SipKey& key,
                                             std::span<const uint64_t> words) {
  internal::SipState state(key);
  state.StartWide();
  state.MixAll(words);
  const uint64_t first = state.Finish(0xee);
  return {first, state.FinishAgain()};
}

}  // namespace actord::runtime
