// The owner of a process, asked in the turn of the process.
//
// Thread-safety: from the turn of the process.
#pragma once

#include "runtime/system/assert.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

// Precondition: the process is in its turn.
[[nodiscard]] inline Owner OwnerInTurn(const ProcessTable& processes,
                                       const Pid& self) {
  if (IsHomePid(self)) {
    return processes.OwnerOf(self).value_or(Owner::kNobody);
  }
  const Process& process = processes.At(self.slot);
  ACTORD_ASSERT_HOT(
      process.running.load() && process.generation.load() == self.generation,
      "owner_in_turn.h: the process is in its turn");
  return process.owner.load(std::memory_order_relaxed);
}

}  // namespace actord::runtime
