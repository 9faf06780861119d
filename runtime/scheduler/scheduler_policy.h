// Every number of the scheduling policy: which process runs next, how much is
// moved at once, how long a worker waits. The classes name these constants and
// state no number of their own. A number that follows from a data structure
// (the slots of the timing wheel, the bits of a word) stays in the header of
// that structure.
//
// A name ends in its unit. "notes:" names the entry of
// docs/performance-notes.md in which the number was measured. A number without
// an entry was taken from Go's scheduler (proc.go), or chosen for the reason
// given and not measured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace actord::runtime {

struct SchedulerPolicy {
  // Order of turns (workers/worker.h). A worker counts its turns.

  // The length of a round, in which each special turn comes once. Go's number.
  // It is a prime, so it has no common rhythm with kTurnsPerTimerCheck.
  static constexpr uint64_t kRoundTurns = 61;
  // The turn of a round in which the global queue goes before the worker's own
  // processes of the same level, and a random worker's timers are checked.
  // Without this turn, a worker with endless work of its own would starve both.
  static constexpr uint64_t kGlobalFirstTurn = 0;
  // The turn of a round that serves a level below the highest. Half a round
  // away from kGlobalFirstTurn, so that the two never meet.
  static constexpr uint64_t kAgeingTurn = 30;
  // In one turn of four rounds (244), continuing processes go before others of
  // their level. If they ran more often, a producer would get too far ahead of
  // its children, whose memory would be cold when they run. notes: One lock for
  // a submission.
  static constexpr uint64_t kBackPeriodTurns = 4 * kRoundTurns;
  // The turn of that period; it is no other special turn of a round.
  static constexpr uint64_t kBackFirstTurn = 45;
  // After this many of a level's newest processes have run in a row, the
  // level's oldest runs. A process that was just made ready is in the cache,
  // but the oldest must not starve (docs/scheduler.md, "How long a ready
  // process waits").
  static constexpr uint8_t kNewestInARow = 3;
  // A worker with a process that always continues never searches. After this
  // many turns of continuing processes it checks whether another worker has
  // processes that are ready and do not continue.
  static constexpr uint32_t kBackTurnsPerCheck = 16;

  // Length of a turn (workers/process_runner.h).

  // A step whose yields were answered at once is followed by the next step in
  // the same turn, up to this many: the process would be the worker's newest
  // anyway. notes: Reads that straddle two writes.
  static constexpr int kStepsPerTurn = 8;
  // A turn that has taken this many events takes no more. It bounds the memory
  // of a thread; the last event taken may be a chain.
  static constexpr size_t kEventsPerStep = 256;
  // A vain turn finds none of the events that were counted for it. Every 16th
  // vain turn yields the processor although other processes are ready: 16 vain
  // turns take a few microseconds.
  static constexpr uint32_t kVainTurnsPerYield = 16;

  // Amounts that are moved at once (scheduler/scheduler.h, run_queue.h).

  // Processes in a level of a worker's queue; a power of two. Go's number. A
  // full level sends its oldest half to the global queue.
  static constexpr uint32_t kLevelCapacity = 256;
  // A worker takes processes from the global queue until it has this many of
  // the level. notes: 64 simulated workers (32 gained 9 % with 64 workers and
  // lost 4 % with 1 and 16).
  static constexpr size_t kGlobalBatch = 16;
  // Processes that one call makes ready together, with one wake-up for all.
  static constexpr size_t kReadyTogether = 64;

  // Turns of owners in the global queue (scheduler/global_queue.h,
  // owner_lines.h).

  // A queue that one owner alone has pushed to this often in a row is no longer
  // fair: a turn of another owner ends during this number of pushes, and its
  // end may push that owner's process again.
  static constexpr uint32_t kPushesAlone = 65536;
  // Empty lines of owners are kept, because an owner that has had a turn mostly
  // comes back. Above this number they are forgotten when nothing is ready:
  // then every start but the latest is in the past.
  static constexpr size_t kKeptOwnerLines = 64;

  // Timers (scheduler/timer_wheel.h, yields/due_timers.h).

  // A worker checks its own timers in every 16th turn: reading the clock costs
  // as much as a short turn. notes: First profile.
  static constexpr uint64_t kTurnsPerTimerCheck = 16;
  // Timers that one check fires while other processes are ready, unless the
  // timers are kTimerLateNs late. A round has several checks of the worker's
  // own timers and one check of another worker's. Together these checks fire no
  // more timers than the round has turns. Otherwise the woken processes would
  // pile up, their memory would get cold, and the queue would overflow. notes:
  // Due timers on one worker.
  static constexpr size_t kTimersBesideWork = 12;
  static_assert(kTimersBesideWork * (kRoundTurns + kTurnsPerTimerCheck) <=
                kRoundTurns * kTurnsPerTimerCheck);
  // Timers that one check fires if nothing else is ready, or if the timers are
  // late. Their memory is prefetched together. notes: Results chained (16 and 8
  // were no better).
  static constexpr size_t kTimersAtOnce = 64;
  static_assert(kTimersAtOnce <= kReadyTogether);
  // A timer that is this late goes before ready processes. At twice this
  // lateness the watchdog would fire it.
  static constexpr uint64_t kTimerLateNs = 1'000'000;
  // A worker that fires timers without running dry keeps the woken processes to
  // itself for this long, because waking a worker costs more than a few short
  // steps. notes: Six levels of 256 slots (65 µs was slower; 300 and 400 gained
  // nothing). With kLongestRestNs it leaves a third of kTimerLateNs.
  static constexpr uint64_t kAloneNs = 200'000;
  // During kAloneNs the worker reads the clock after the first turn, and then
  // after every fourth.
  static constexpr uint32_t kTurnsPerClock = 4;
  // The timekeeper sleeps at least this long for each timer that fired
  // recently. Its wake-up costs some 10 µs, and all timers that are due then
  // share that cost.
  static constexpr uint64_t kRestPerTimerNs = 4'000;
  static constexpr uint64_t kLongestRestNs = 500'000;
  // The timekeeper's longest sleep. It keeps the arithmetic of the kernel's
  // clock from overflowing, and limits the effect of a clock that was set
  // wrong.
  static constexpr uint64_t kLongestSleepNs = 60'000'000'000;
  // Timers that one Advance moves down, which takes some 10 to 50 µs under the
  // wheel's lock (docs/decisions/0018-due-timers-alone.md).
  static constexpr size_t kTimersMovedAtOnce = 1024;
  // A wheel with this many timers is not crowded: they take 64 KiB, which is
  // not worth a walk. The simulator's number is smaller, because the simulator
  // has few timers and its seeds must meet crowded wheels.
#ifdef ACTORD_FAIL_POINTS
  static constexpr size_t kFewTimers = 8;
#else
  static constexpr size_t kFewTimers = 4096;
#endif
  // Timers of a crowded wheel that one Add checks. The number bounds the cost
  // of an Add, and suffices to walk through the wheel before it has doubled
  // (docs/decisions/0022-timers-forgotten-late.md).
  static constexpr size_t kTimersCheckedPerAdd = 8;

  // Idling (workers/worker.h).

  // A searcher that finds nothing tries again at once until its 4th failure.
  // Then it yields its thread after each failure, and it sleeps after its 16th.
  // A wake-up costs 20 to 45 µs of processor time
  // (docs/decisions/0018-due-timers-alone.md).
  static constexpr int kTightSearches = 4;
  static constexpr int kSearches = 16;

  // The watchdog (workers/watchdog.h).

  // How long a call into a plugin may keep its worker. Go's number for a
  // goroutine.
  static constexpr uint64_t kCallPatienceNs = 10'000'000;
  // The pause between two checks. It is shortest after a check that acted, then
  // doubles each time up to the longest. Go's numbers (sysmon).
  static constexpr uint64_t kShortestCheckNs = 20'000;
  static constexpr uint64_t kLongestCheckNs = 10'000'000;
  // The pause after a rest; the first check doubles it. If workers wake often
  // and briefly, the watchdog rests as often
  // (docs/decisions/0018-due-timers-alone.md).
  static constexpr uint64_t kAfterRestNs = 1'000'000;
  // A timer that is this late wakes a sleeper.
  static constexpr uint64_t kTimerPatienceNs = 1'000'000;
  // A timer that is this late is fired by the watchdog itself.
  static constexpr uint64_t kTimerDespairNs = 2 * kTimerPatienceNs;
  // The shortest time between two warnings of one kind in the log.
  static constexpr uint64_t kWarningPauseNs = 10'000'000'000;
};

}  // namespace actord::runtime
