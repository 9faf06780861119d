// What a step is given, beside the state of its process: together with the
// answers of the World this decides all that the step does and what becomes of
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
  // Empty: submitted from outside. Borrowed; null is empty, too.
  const AtomicPid* parent = nullptr;
  [[nodiscard]] Pid Parent() const {
    return parent == nullptr ? Pid{} : parent->Load();
  }
  uint64_t step = 0;  // 1 is the first; 0: Init
  uint64_t next_tag = 1;
  uint64_t max_steps = UINT64_MAX;
  uint32_t yields = 0;   // outstanding, without those of former versions
  uint32_t replies = 0;  // completions that came at once, not seen by a step
  bool cancel_requested = false;
  bool more_events = false;  // wait for the next step of this turn

  // Of a step.
  std::span<const actord_event* const> events;
  // Of Init.
  actord_init init{};
};

}  // namespace actord::runtime
