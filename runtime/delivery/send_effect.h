// The effect "send a message". Delivery carries it out.
#pragma once

#include "runtime/process/envelope.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct SendEffect {
  Content content;  // ACTORD_EVENT_MESSAGE
  Pid to;
};

}  // namespace actord::runtime
