// The only source of randomness for everything in the runtime.
#pragma once

#include <cstdint>

namespace actord::runtime {

// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
// Generators", 2014): an addition and two multiplications a number. Not for
// secrets. Thread-safety: one thread at a time.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // 64 bits of the system's entropy, to seed a generator.
  static uint64_t SystemSeed();

 private:
  uint64_t state_;
};

}  // namespace actord::runtime
