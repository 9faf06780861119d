// The effects of a call and of a reply. Calls carries them out.
#pragma once

#include <cstdint>

#include "runtime/process/envelope.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct CallEffect {
  Content content;          // kEventCall, whose header holds the call's tag
  Pid to;                   // empty: no process held the name that was called
  uint64_t timeout_ns = 0;  // 0: the default
};

struct ReplyEffect {
  Content content;    // ACTORD_EVENT_COMPLETION, with the status of the answer
  uint64_t call = 0;  // the handle that the call's event carried
};

}  // namespace actord::runtime
