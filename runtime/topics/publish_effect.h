// The effect "publish under a topic". Topics carries it out.
#pragma once

#include "runtime/process/envelope.h"

namespace actord::runtime {

struct PublishEffect {
  Content content;  // ACTORD_EVENT_MESSAGE, from the process that publishes
};

}  // namespace actord::runtime
