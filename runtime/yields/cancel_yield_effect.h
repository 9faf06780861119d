// The effect that gives up an outstanding yield. YieldBroker carries it out.
#pragma once

#include <cstdint>

namespace actord::runtime {

struct CancelEffect {
  uint64_t tag = 0;
};

}  // namespace actord::runtime
