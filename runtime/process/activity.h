// The one atomic word that says whether a process has to run, and how full its
// mailbox is. It replaces a state, a wake flag and two counters, so that a send
// costs one RMW beside its push, or one in all (5), and a step one.
//
//   bit  0       ended     no process is in this slot: nothing here has to run
//   bit  1       ready     it runs whatever its mailbox says: it has just been
//                          spawned, continues, or was left with events that no
//                          step has seen
//   bit  2       blocked   messages alone do not make it run
//   bits 3..17   urgent    urgent events that were pushed or handed over, and
//                          that no turn has seen
//   bits 18..37  messages  messages that were sent, if not pushed yet, and that
//                          no turn has taken
//   bits 38..63  units     buffers held by the mailbox, in 64 bytes
//
// The states of a process are readings of it:
//   Ready or Running = Runnable(word); Idle = not runnable, not blocked;
//   Blocked = not runnable, blocked; Complete = ended.
//
// Invariants:
//  (1) Exactly the RMW that takes the word from not runnable to runnable
//      enqueues the process. So it is in at most one queue, or running, and
//      never in both.
//  (2) A turn subtracts what it took, in one RMW at its end: urgent events that
//      its first load counted, and messages, which all are counted before they
//      can be found (3). So the word stays runnable during the turn, and what
//      it did not take makes the result of that RMW runnable: then the turn
//      itself enqueues.
//  (3) A producer adds its messages to the word and then pushes them (release).
//      So all that a turn finds in the queue is counted. What is counted and
//      not found is on its way, or behind a gap: the word goes on counting it,
//      so the process stays runnable, and the next turn looks again. And a
//      sender that finds nothing counted has nothing of its own in the queue.
//      Urgent events are pushed first and counted then (release): whoever saw
//      the count (acquire) finds them.
//  (4) Only the running turn changes `ready` and `blocked`, and `ended` when
//      the process ends; only its spawner takes `ended` away again. So all of
//      them can be changed by addition.
//  (5) From the RMW of (1) to its enqueuing nobody else runs the process: the
//      turn's fields are the caller's. So who finds nothing to do there takes
//      the word to runnable first, by a compare-and-swap, and then hands over
//      what it brings in those fields, without a queue (process.h, Post).
#pragma once

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
  // A limit of messages may be passed by what others send at the same moment,
  // each of them a chain of up to kMaxChain: the field has room for 700 of them
  // above the highest limit, and for as many exits as there may be, which no
  // limit refuses. (A submission's messages and those with which a child starts
  // are more, but nobody sends beside them that has not seen them counted.)
  static constexpr uint64_t kMaxChain = 64;
  static constexpr uint64_t kMessagesLimitMax = 900'000;
  static constexpr uint64_t kExitsMax = 100'000;
  static_assert(kMessagesLimitMax + kExitsMax + 700 * kMaxChain <=
                kMessagesMask);
  // Cancels are refused above this, so that completions, which are bounded by
  // the limit of yields (16,000), cannot overflow the field on top of them.
  static constexpr uint64_t kUrgentMax = 15'000;

  static constexpr uint64_t Urgent(uint64_t word) {
    return (word >> kUrgentShift) & kUrgentMask;
  }
  static constexpr uint64_t Messages(uint64_t word) {
    return (word >> kMessagesShift) & kMessagesMask;
  }
  static constexpr uint64_t Units(uint64_t word) { return word >> kUnitsShift; }
  // What to add for `count` envelopes of `units` in all.
  static constexpr uint64_t ForMessages(uint64_t count, uint64_t units) {
    return (count << kMessagesShift) + (units << kUnitsShift);
  }

  // Not runnable, and a message would make it so.
  static constexpr bool AwaitsMessage(uint64_t word) {
    return (word & ((uint64_t{1} << kUnitsShift) - 1)) == 0;
  }
  // Not runnable, and an urgent event would make it so.
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

  // The most that may be counted. A turn that subtracts more than was counted
  // leaves a field above that: it wraps around.
  static constexpr uint64_t kMessagesMax =
      kMessagesLimitMax + kExitsMax + 700 * kMaxChain;
  static constexpr uint64_t kUrgentCountMax = kUrgentMax + 16'500;
  static_assert(kUrgentCountMax < kUrgentMask);
  static constexpr bool IsPlausible(uint64_t word) {
    return Messages(word) <= kMessagesMax && Urgent(word) <= kUrgentCountMax;
  }

  // Adds `delta`, which makes it runnable, to a word that is still `word`,
  // which is not. True: (5) holds, and the caller has to enqueue the process.
  static bool Claim(std::atomic<uint64_t>& activity, uint64_t word,
                    uint64_t delta) {
    ACTORD_ASSERT_HOT(!Runnable(word) && Runnable(word + delta),
                      "activity.h (5)");
    FailPoint();
    WillChange(&activity);
    // Acquire: the turn's fields as the last turn left them. Release: as Add.
    return activity.compare_exchange_strong(word, word + delta,
                                            std::memory_order_acq_rel,
                                            std::memory_order_relaxed);
  }

  // Adds `delta` and says whether the caller has to enqueue the process.
  static bool Add(std::atomic<uint64_t>& activity, uint64_t delta) {
    FailPoint();
    WillChange(&activity);
    // Release: (3), of urgent events. Acquire: whoever enqueues hands over what
    // it saw. seq_cst, which costs an RMW nothing: what takes `ended` away
    // (lifecycle_log.h, (2)).
    const uint64_t before =
        activity.fetch_add(delta, std::memory_order_seq_cst);
    ACTORD_ASSERT_HOT(IsPlausible(before), "activity.h (2)");
    // A spawner's word is ended; all others add counts alone.
    ACTORD_ASSERT_HOT(
        (before & kEnded) != 0 || (delta & (kEnded | kReady | kBlocked)) == 0,
        "activity.h (4)");
    return !Runnable(before) && Runnable(before + delta);
  }
};

}  // namespace actord::runtime
