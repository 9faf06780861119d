// Finds the counter of a process that found no room.
//
// Thread-safety: pure functions.
#pragma once

#include "runtime/counters/counters.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

constexpr Counter Counters::*RefusalCounter(ProcessTable::NoRoom why) {
  switch (why) {
    case ProcessTable::NoRoom::kForOwner:
      return &Counters::refused_processes_of_owner;
    case ProcessTable::NoRoom::kForType:
      return &Counters::refused_processes_of_type;
    case ProcessTable::NoRoom::kInTable:
      break;
  }
  return &Counters::refused_processes;
}

}  // namespace actord::runtime
