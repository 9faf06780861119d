// The effects that begin and end monitors and links. Ties carries them out.
#pragma once

#include <cstdint>

#include "runtime/process/pid.h"

namespace actord::runtime {

struct TieEffect {
  enum class Kind : uint8_t { kMonitor, kDemonitor, kLink, kUnlink };
  Kind kind = Kind::kMonitor;
  Pid other;         // not for kDemonitor
  uint64_t tag = 0;  // for kMonitor and kDemonitor
};

}  // namespace actord::runtime
