// A step of a durable process of a replay type, as the store has it.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <vector>

#include "runtime/records/records.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

struct StepOfHistory {
  records::Step step;
  // The events at the positions of `step.consumed`; their bodies are set.
  std::vector<Consumed> consumed;
};

}  // namespace actord::runtime
