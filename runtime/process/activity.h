// The one atomic word of a process. It says whether the process has to run and
// how full its mailbox is. The word replaces a state, a wake flag and two
// counters, so a send costs one RMW beside its push, or one RMW in all (5), and
// a step costs one RMW.
//
//   bit  0       ended     no process is in this slot: nothing here has to run
//   bit  1       ready     the process runs even with an empty mailbox: it has
//                          just been spawned, it continues, or it has events
//                          left that no step has seen
//   bit  2       blocked   messages alone do not make it run
//   bits 3..17   urgent    urgent events that were pushed or handed over, and
//                          that no turn has seen
//   bits 18..37  messages  messages that were sent (perhaps not pushed yet),
//                          and that no turn has taken
//   bits 38..63  units     buffers held by the mailbox, in units of 64 bytes
//
// The states of a process are readings of the word:
//   Ready or Running = Runnable(word); Idle = not runnable, not blocked;
//   Blocked = not runnable, blocked; Complete = ended.
//
// Invariants:
//  (1) An RMW that takes the word from not runnable to runnable makes its
//      caller enqueue the process. No other RMW does so, except at the end of a
//      turn (2). So a process is in at most one queue, or it runs, but never
//      both.
//  (2) A turn subtracts the events that it took, in one RMW at its end: the
//      urgent events that its first load counted, and the messages, each of
//      which is counted before a turn can find it (3). So the word stays
//      runnable during the turn. If the turn left events, the result of that
//      RMW is runnable, and the turn itself enqueues the process.
//  (3) A producer adds its messages to the word and then pushes them (release).
//      So every message that a turn finds in the queue is counted. A message
//      that is counted but not found is on its way, or behind a gap: the word
//      goes on counting it, so the process stays runnable, and the next turn
//      looks again. A sender that finds no message counted has no message of
//      its own in the queue. Urgent events are pushed first and then counted
//      (release): a thread that saw the count (acquire) finds the events.
//  (4) Only the running turn changes `ready` and `blocked`, and sets `ended`
//      when the process ends. Only the spawner of a process clears `ended`
//      again. So these bits can be changed by addition.
//  (5) Between the RMW of (1) and the enqueuing nobody else runs the process:
//      the turn's fields belong to the caller. So a producer that finds the
//      word not runnable first makes it runnable, by a compare-and-swap, and
//      then puts its events into those fields, without a queue (process.h,
//      Post).
// performance-notes: Inlined by force.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

struct Activity {
  static constexpr uint64_t kEnded = 1u << 0;
  static constexpr uint64_t kReady = 1u << 1;
  static constexpr uint64_t kBlocked = 1u << 2;
  static constexpr int kUrgentShift = 3;
  static constexpr int kMessagesShift = 18;
  static constexpr int kUnitsShift = 38;
  static constexpr uint64_t kUrgentOne = uint64_t{1} << kUrgentShift;
  static constexpr uint64_t kMessagesOne = uint64_t{1} << kMessagesShift;
  static constexpr uint64_t kUrgentMask = (uint64_t{1} << 15) - 1;
  static constexpr uint64_t kMessagesMask = (uint64_t{1} << 20) - 1;
  // Senders that send at the same moment may exceed a limit of messages, each
  // by a chain of up to kMaxChain. Above the highest limit the field has room
  // for 700 such chains, and for kExitsMax exits, which no limit refuses. (A
  // submission, or a child at its start, may have more messages, but every
  // other sender has seen these messages counted.)
  static constexpr uint64_t kMaxChain = 64;
  static constexpr uint64_t kMessagesLimitMax = 900'000;
  static constexpr uint64_t kExitsMax = 100'000;
  static_assert(kMessagesLimitMax + kExitsMax + 700 * kMaxChain <=
                kMessagesMask);
  // Cancels are refused above this count. Completions are bounded by the limit
  // of yields (16,000), so both together cannot overflow the field.
  static constexpr uint64_t kUrgentMax = 15'000;

  static constexpr uint64_t Urgent(uint64_t word) {
    return (word >> kUrgentShift) & kUrgentMask;
  }
  static constexpr uint64_t Messages(uint64_t word) {
    return (word >> kMessagesShift) & kMessagesMask;
  }
  static constexpr uint64_t Units(uint64_t word) { return word >> kUnitsShift; }
  // The delta for `count` envelopes of `units` in all.
  static constexpr uint64_t ForMessages(uint64_t count, uint64_t units) {
    return (count << kMessagesShift) + (units << kUnitsShift);
  }

  // The process is not runnable, and a message would make it runnable.
  static constexpr bool AwaitsMessage(uint64_t word) {
    return (word & ((uint64_t{1} << kUnitsShift) - 1)) == 0;
  }
  // The process is not runnable, and an urgent event would make it runnable.
  static constexpr bool AwaitsUrgent(uint64_t word) {
    return (word & kEnded) == 0 && !Runnable(word);
  }
  static constexpr bool Runnable(uint64_t word) {
    constexpr uint64_t kAlways = kReady | (kUrgentMask << kUrgentShift);
    constexpr uint64_t kUnlessBlocked = kMessagesMask << kMessagesShift;
    const uint64_t wakes =
        (word & kBlocked) != 0 ? kAlways : kAlways | kUnlessBlocked;
    return (word & kEnded) == 0 && (word & wakes) != 0;
  }

  // The highest counts that can occur. If a turn subtracts more than was
  // counted, the field wraps around to a value above them.
  static constexpr uint64_t kMessagesMax =
      kMessagesLimitMax + kExitsMax + 700 * kMaxChain;
  static constexpr uint64_t kUrgentCountMax = kUrgentMax + 16'500;
  static_assert(kUrgentCountMax < kUrgentMask);
  static constexpr bool IsPlausible(uint64_t word) {
    return Messages(word) <= kMessagesMax && Urgent(word) <= kUrgentCountMax;
  }

  // Adds `delta`, which makes the word runnable, if the word is still `word`,
  // which is not runnable. True: (5) holds, and the caller has to enqueue the
  // process.
  static bool Claim(std::atomic<uint64_t>& activity, uint64_t word,
                    uint64_t delta) {
    ACTORD_ASSERT_HOT(!Runnable(word) && Runnable(word + delta),
                      "activity.h (5)");
    FailPoint();
    WillChange(&activity);
    // Acquire: the caller sees the turn's fields as the last turn left them.
    // Release: as in Add.
    return activity.compare_exchange_strong(word, word + delta,
                                            std::memory_order_acq_rel,
                                            std::memory_order_relaxed);
  }

  // Counts `count` messages of `units` in all that come before all others of
  // the mailbox (continuing.h). False: the fields have no room for them, and
  // nothing has changed. Turn, or before the process is live.
  static bool AddOlder(std::atomic<uint64_t>& activity, uint64_t count,
                       uint64_t units) {
    // Half of the field, so that senders that do not know of them yet have
    // room. (The highest limit of a mailbox is a quarter of the field.)
    constexpr uint64_t kMostUnits = uint64_t{1} << (63 - kUnitsShift);
    uint64_t word = activity.load(std::memory_order_relaxed);
    do {
      if (count >
              kMessagesLimitMax - std::min(Messages(word), kMessagesLimitMax) ||
          units > kMostUnits - std::min(Units(word), kMostUnits)) {
        return false;
      }
      FailPoint();
      WillChange(&activity);
      // Orders: as in Add.
    } while (!activity.compare_exchange_weak(
        word, word + ForMessages(count, units), std::memory_order_seq_cst,
        std::memory_order_relaxed));
    return true;
  }
  // Adds `delta` and says whether the caller has to enqueue the process.
  // (Callers know the kind of their delta, so that little of Runnable stays.)
  [[gnu::always_inline]] static bool Add(std::atomic<uint64_t>& activity,
                                         uint64_t delta) {
    FailPoint();
    WillChange(&activity);
    // Release: (3), of urgent events. Acquire: a caller that enqueues the
    // process hands over all that it saw. seq_cst, which costs an RMW nothing:
    // for the RMW that clears `ended` (lifecycle_log.h, (2)).
    const uint64_t before =
        activity.fetch_add(delta, std::memory_order_seq_cst);
    ACTORD_ASSERT_HOT(IsPlausible(before), "activity.h (2)");
    // A spawner adds to an ended word; all other callers add only counts.
    ACTORD_ASSERT_HOT(
        (before & kEnded) != 0 || (delta & (kEnded | kReady | kBlocked)) == 0,
        "activity.h (4)");
    return !Runnable(before) && Runnable(before + delta);
  }
};

}  // namespace actord::runtime
