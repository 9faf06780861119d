// An outstanding yield that is not completed within the turn that made it.
//
// Life of a record, in one word (generation:32 | phase:32):
//
//   ended ── Open (turn) ──► pending ── the first completion, or the end of
//     ▲                                its process ──┐
//     └──────────────────────────────────────────────┘
//
// Only the CAS that leaves "pending" decides how the yield ended. Only the turn
// of its process opens a record, and gives the record back after the yield has
// ended. Each opening has a new generation, so a holder of an old handle finds
// that it is too late.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/process/call_times.h"
#include "runtime/process/envelope.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct Process;

// One cache line: the memory that a waiting yield costs beside its process.
struct alignas(64) YieldRecord {
  enum Phase : uint32_t { kEnded = 0, kPending = 1 };
  // kCommand: of the daemon or of a plugin. kExternal: of a remote worker.
  // kCall: a call to another process.
  enum class Kind : uint8_t { kCommand, kExternal, kCall };

  static uint64_t Word(uint32_t generation, Phase phase) {
    return (uint64_t{generation} << 32) | phase;
  }

  // Orders: release for each change, acquire for a reader that relies on the
  // fields below.
  std::atomic<uint64_t> word{Word(0, kEnded)};

  // Open writes these fields before the record is pending. Relaxed: a reader
  // relies on the values only if its CAS on `word` succeeds afterwards.
  std::atomic<Process*> process{nullptr};
  std::atomic<uint64_t> tag{0};
  std::atomic<uint32_t> process_generation{0};
  // The worker whose wheel has the yield's timers.
  std::atomic<uint16_t> worker{0};
  std::atomic<Kind> kind{Kind::kCommand};

  // Turn: the slots of the process's records before and behind this one.
  uint32_t next = kNoYieldSlot;
  uint32_t previous = kNoYieldSlot;

  // Of a call or a command, for people who look at it. The functions that open
  // these yields write the fields as the fields above. A command has the
  // address of its handler in place of the callee (yield_broker_calls.cc).
  AtomicPid callee;
  std::atomic<uint64_t> call_times{0};  // CallTimes
};

static_assert(sizeof(YieldRecord) == 64);

}  // namespace actord::runtime
