// The input of a step, beside the state of its process. This input and the
// answers of the World determine everything that the step does and the fate of
// the process.
//
// Thread-safety: a plain value. Ownership: borrows the parent's PID, and the
// events, whose bytes lie in envelopes of the turn.
#pragma once

#include <actord/abi.h>

#include <cstdint>
#include <span>

#include "runtime/process/pid.h"

namespace actord::runtime {

struct TurnInput {
  Pid self;
  // Empty or null: the process was submitted from outside. Borrowed.
  const AtomicPid* parent = nullptr;
  [[nodiscard]] Pid Parent() const {
    return parent == nullptr ? Pid{} : parent->Load();
  }
  uint64_t step = 0;  // 1: the first step; 0: Init
  // For the Init of a further life (continue_as): the number of the last step,
  // with the top bit set. Otherwise 0.
  uint64_t life_after_step = 0;
  uint64_t next_tag = 1;
  uint64_t max_steps = UINT64_MAX;
  // Outstanding yields, without the yields of earlier versions.
  uint32_t yields = 0;
  uint32_t replies = 0;  // immediate completions that no step has seen yet
  bool cancel_requested = false;
  bool more_events = false;  // events wait for the next step of this turn

  // The events of a step.
  std::span<const actord_event* const> events;
  // The arguments of Init.
  actord_init init{};
};

}  // namespace actord::runtime
