// Chooses a method by two bytes of an input. The bytes of a seed are the hash
// of the name of its method, so the seed reaches this method also when methods
// are added to the contract, or moved.
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string_view>

namespace actord::fuzz {

// FNV-1a, folded to 16 bits.
constexpr uint16_t HashOfMethod(std::string_view name) {
  uint32_t hash = 2'166'136'261;
  for (const char c : name) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16'777'619;
  }
  return static_cast<uint16_t>(hash ^ hash >> 16);
}

// The method whose hash is `number`, or else the next larger one, or else the
// smallest one.
inline const google::protobuf::MethodDescriptor& ChooseMethod(
    const google::protobuf::ServiceDescriptor& service, uint16_t number) {
  const google::protobuf::MethodDescriptor* best = service.method(0);
  for (int i = 1; i < service.method_count(); ++i) {
    const auto distance = [number](const auto& method) {
      return static_cast<uint16_t>(HashOfMethod(method.name()) - number);
    };
    if (distance(*service.method(i)) < distance(*best)) {
      best = service.method(i);
    }
  }
  return *best;
}

}  // namespace actord::fuzz
