// The effect of a yielded command. Dispatcher carries it out.
#pragma once

#include <cstdint>

#include "runtime/process/envelope.h"

namespace actord::runtime {

struct YieldEffect {
  // ACTORD_EVENT_COMPLETION: the topic is the command, the tag is the yield's.
  Content content;
  uint64_t timeout_ns = 0;  // 0: the default
  // The bytes of an actord_work_policy, in ABI layout. Empty: the policy of the
  // configuration applies.
  Content policy;
};

}  // namespace actord::runtime
