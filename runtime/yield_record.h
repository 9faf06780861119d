// An outstanding yield that is not completed within the turn that made it.
//
// Life of a record, in one word (generation:32 | phase:32):
//   free ── Open (turn) ──► pending ── Complete, by whoever comes first ──►
//   ended
//     ▲                        │ end of the process (turn)                  │
//     └──── Close (turn) ──────┴────────────────────────────────────────────┘
// The CAS that leaves "pending" decides, alone, how the yield ended. Only the
// turn of its process opens and closes a record; each opening has a new
// generation, so whoever holds an old handle finds that it is too late.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/timer_wheel.h"

namespace actord::runtime {

struct Process;

// The first line is all that firing needs.
struct alignas(64) YieldRecord {
  enum Phase : uint32_t { kFree = 0, kPending = 1, kEnded = 2 };

  static uint64_t Word(uint32_t generation, Phase phase) {
    return (uint64_t{generation} << 32) | phase;
  }

  // Orders: release by whoever changes it, acquire by whoever relies on the
  // fields below.
  std::atomic<uint64_t> word{Word(0, kFree)};

  // Written by Open while the record is free. Relaxed: a reader relies on them
  // only if its CAS on `word` succeeds afterwards.
  std::atomic<Process*> process{nullptr};
  std::atomic<uint32_t> process_generation{0};
  std::atomic<uint64_t> tag{0};
  std::atomic<TimerWheel*> wheel{nullptr};
  std::atomic<bool> external{false};

  // `timer` has been in the wheel. seq_cst; with `word`, decides whether Close
  // has to look (yield_broker.cc).
  std::atomic<bool> armed{false};
  TimerWheel::Timer timer;
  // When the timer fires; written by Open, then under the wheel's lock. It only
  // becomes earlier.
  uint64_t deadline_ns = UINT64_MAX;
  // Whether that is the result (a sleep) or a timeout. Relaxed, as above.
  std::atomic<bool> deadline_is_result{false};

  // Turn: the list of the process's records, and the own index.
  YieldRecord* next = nullptr;
  YieldRecord* previous = nullptr;
  uint32_t slot = 0;
};

static_assert(sizeof(YieldRecord) == 128);

}  // namespace actord::runtime
