// Descriptions of live processes and of held names, and the pages that lists
// return.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/process/priority.h"

namespace actord::runtime {

// One call of a list function looks at this many entries at most, so that no
// lock is held for long.
inline constexpr size_t kMaxLookedAt = 1 << 16;

// kDormant: idle, and in the store alone.
enum class ProcessState { kReady, kRunning, kBlocked, kIdle, kDormant };

struct ProcessInfo {
  Pid pid;
  Pid parent;  // empty: submitted from outside
  Owner owner = Owner::kNobody;
  std::string process_type;
  std::string method;
  ProcessState state = ProcessState::kReady;
  int priority = kDefaultPriority;
  uint64_t started_unix_ns = 0;
  uint64_t steps = 0;
  uint64_t mailbox_messages = 0;
  uint64_t mailbox_bytes = 0;  // memory held, in buffers of 64 bytes
  uint64_t yields = 0;         // outstanding
  bool cancel_requested = false;
  // The page of a list that begins with this process.
  uint32_t place = 0;
};

struct ProcessFilter {
  std::string process_type;  // "": any
  std::optional<ProcessState> state;
  Pid parent;              // empty: any
  Owner by = Owner::kAny;  // only the processes that `by` sees
};

struct ProcessPage {
  // In the order of their places: volatile processes first, then durable ones.
  std::vector<ProcessInfo> processes;
  // The place where the next page begins; 0: this was the last page.
  uint32_t next_slot = 0;
};

struct NamePage {
  struct Entry {
    std::string name;
    Pid pid;
    Owner owner = Owner::kNobody;
  };
  std::vector<Entry> names;  // the longest held first
  // Where the next page begins; 0: this was the last page.
  uint64_t next_sequence = 0;
};

}  // namespace actord::runtime
