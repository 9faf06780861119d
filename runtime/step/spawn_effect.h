// The effect that starts a child that the step has reserved.
#pragma once

#include <cstdint>

#include "runtime/process/envelope.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

// Why a reserved child ends without an Init.
enum class SpawnRefusal : uint8_t { kNone, kUnknownType, kUnknownMethod };

// The text of the refusal; null: the child begins.
constexpr const char* TextOf(SpawnRefusal refusal) {
  switch (refusal) {
    case SpawnRefusal::kNone:
      return nullptr;
    case SpawnRefusal::kUnknownType:
      return "the process type is unknown";
    case SpawnRefusal::kUnknownMethod:
      return "the process type has no such method";
  }
  return nullptr;
}

struct SpawnEffect {
  Content content;  // the input; may be empty
  Pid child;
  uint64_t monitor = 0;  // tag of the parent's monitor; 0: none
  SpawnRefusal refusal = SpawnRefusal::kNone;
  bool keep_result = false;
  bool link = false;
};

}  // namespace actord::runtime
