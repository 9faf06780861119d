// How the benchmark and its processes write plain values into payloads. Both
// are built together, so the values are copied as they are in memory.
//
// Thread-safety: pure functions. Ownership: BytesOf returns a view of its
// argument.
#pragma once

#include <actord/values.h>

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace actord::bench {

template <typename T>
requires std::is_trivially_copyable_v<T> std::string_view BytesOf(
    const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// Throws if `bytes` is not a T, which fails the process and with it the
// benchmark.
template <typename T>
requires std::is_trivially_copyable_v<T> T ReadAs(std::string_view bytes) {
  if (bytes.size() != sizeof(T)) {
    throw std::invalid_argument("a payload has the wrong size");
  }
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// Without a content type: the other runtimes that are measured have none.
template <typename T>
requires std::is_trivially_copyable_v<T> Payload Binary(const T& value) {
  return Payload(BytesOf(value), {});
}

}  // namespace actord::bench
