// An outstanding yield that is not completed within the turn that made it.
//
// Life of a record, in one word (generation:32 | phase:32):
//
//   ended ── Open (turn) ──► pending ── whoever completes it first, or the end
//     ▲                                of its process ──┐
//     └─────────────────────────────────────────────────┘
//
// The CAS that leaves "pending" decides, alone, how the yield ended. Only the
// turn of its process opens a record, and gives it back once it has ended; each
// opening has a new generation, so whoever holds an old handle finds that it is
// too late.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/process/envelope.h"

namespace actord::runtime {

struct Process;

// One line: what a yield that waits costs beside its process.
struct alignas(64) YieldRecord {
  enum Phase : uint32_t { kEnded = 0, kPending = 1 };

  static uint64_t Word(uint32_t generation, Phase phase) {
    return (uint64_t{generation} << 32) | phase;
  }

  // Orders: release by whoever changes it, acquire by whoever relies on the
  // fields below.
  std::atomic<uint64_t> word{Word(0, kEnded)};

  // Written by Open, before it is pending. Relaxed: a reader relies on them
  // only if its CAS on `word` succeeds afterwards.
  std::atomic<Process*> process{nullptr};
  std::atomic<uint64_t> tag{0};
  std::atomic<uint32_t> process_generation{0};
  // The worker in whose wheel its timers are.
  std::atomic<uint16_t> worker{0};
  std::atomic<bool> external{false};

  // Turn: the slots of the process's records before and behind this one.
  uint32_t next = kNoYieldSlot;
  uint32_t previous = kNoYieldSlot;
};

static_assert(sizeof(YieldRecord) == 64);

}  // namespace actord::runtime
