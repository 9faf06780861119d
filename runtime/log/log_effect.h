// The effect "write a line into the log". ProcessLog carries it out.
#pragma once

#include <cstdint>

#include "runtime/process/envelope.h"

namespace actord::runtime {

struct LogEffect {
  int32_t level = 0;  // ACTORD_LOG_*
  Content content;    // ACTORD_EVENT_MESSAGE; the text is its payload
};

}  // namespace actord::runtime
