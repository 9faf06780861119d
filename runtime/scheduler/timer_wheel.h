// Timers of one worker: a hierarchical timing wheel (Varghese and Lauck, 1987),
// so that adding and firing cost the same with a million timers as with one.
//
// A tick is 2^16 ns (65.5 µs); deadlines are rounded up to a tick, so that a
// timer is never early, and the wheel makes it at most a tick late. Level L has
// 256 slots of 256^L ticks each (level 0 spans 16.8 ms, level 1 4.3 s); 6
// levels reach 585 years. A timer lies in the slot of the highest 8-bit digit
// in which its deadline differs from now, and moves down when that slot's time
// comes. Timers move some at a time, so that a thread that adds a timer never
// waits for a whole slot to move. Levels are wide and few, so that most timers
// move once.
//
// No timer is cancelled: the owner of an unwanted timer leaves it in the wheel
// and ignores it when it fires. So the wheel touches only its own arrays; the
// memory of the timer's owner is cold when the timer moves. A wheel is crowded
// when it holds more than max(SchedulerPolicy::kFewTimers, twice the timers
// that the last walk through all of them left), or four times the timers that
// firing has left since. A crowded wheel is walked through again, and the
// unwanted timers are forgotten. Each Add checks kTimersCheckedPerAdd timers,
// as an incremental garbage collector works at each allocation.
//
// Thread-safety: any thread. The wheel runs no code of timers: Advance hands
// out the values that the timers carry.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "runtime/memory/block_stack.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class TimerWheel {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr int kTickShift = 16;
  static constexpr int kLevelBits = 8;
  static constexpr int kSlots = 1 << kLevelBits;
  static constexpr int kLevels = 6;

  // True: the timer that carries `value` is still wanted. Once false for a
  // value, the answer must stay false. Called under the wheel's lock for a
  // value that was added before, so the call sees all that the adder saw.
  using IsWanted = absl::AnyInvocable<bool(uint64_t value) const>;

  explicit TimerWheel(uint64_t now_ns) : now_tick_(now_ns >> kTickShift) {}
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // To be called once, before the first Add. Without this call no timers are
  // forgotten.
  void SetIsWanted(IsWanted is_wanted) {
    const MutexLock lock(mutex_);
    is_wanted_ = std::move(is_wanted);
  }

  // Adds a timer: Advance hands `value` out once, after `deadline_ns`.
  void Add(uint64_t value, uint64_t deadline_ns);

  // Appends the values of at most `max` due timers to `due`. If EarliestNs is
  // past afterwards, more timers may be due, even if `due` is empty.
  void Advance(uint64_t now_ns, size_t max, std::vector<uint64_t>& due);

  // The time at which the first timer is due, to the tick; kNever: there is
  // none. For tests: it walks whole slots.
  uint64_t FirstDueNs();
  // The number of timers, wanted or not; for tests.
  size_t Size() {
    const MutexLock lock(mutex_);
    return size_;
  }

  // No timer is due before this time; kNever: there is none. A lower bound,
  // readable without a lock. It may be past though no timer is due, because a
  // slot begins before its timers are due and because timers may have been
  // forgotten. One or more calls of Advance then find a later bound. seq_cst: a
  // sleeper reads the bound after it has published itself (idle_workers.h (3)).
  uint64_t EarliestNs() const {
    return earliest_ns_.load(std::memory_order_seq_cst);
  }

 private:
  using Policy = SchedulerPolicy;

  struct Timer {
    uint64_t value;
    uint64_t tick;
  };
  // Some 100,000 timers may come and go in one slot.
  using Slot = BlockStack<Timer>;
  struct Level {
    static constexpr int kWordBits = 64;

    // Bit s: slots[s] is not empty.
    std::array<uint64_t, kSlots / kWordBits> occupied{};
    std::array<Slot, kSlots> slots;

    void SetOccupied(int slot) { WordOf(slot) |= BitOf(slot); }
    void SetEmpty(int slot) { WordOf(slot) &= ~BitOf(slot); }
    // The first occupied slot from `slot` on; kSlots: all are empty.
    [[nodiscard]] int NextOccupied(int slot) const {
      for (; slot < kSlots; slot = (slot / kWordBits + 1) * kWordBits) {
        const uint64_t word = occupied[static_cast<size_t>(slot / kWordBits)];
        const uint64_t rest = word >> slot % kWordBits;
        if (rest != 0) return slot + std::countr_zero(rest);
      }
      return kSlots;
    }

   private:
    uint64_t& WordOf(int slot) {
      return occupied[static_cast<size_t>(slot / kWordBits)];
    }
    static uint64_t BitOf(int slot) { return uint64_t{1} << slot % kWordBits; }
  };
  // The position of a walk. A walk goes from the highest level to the lowest,
  // as timers move, and in a slot from the newest timer to the oldest; `left`
  // timers of the slot are still to be checked. So a walk reaches all timers
  // that were there when it began, unless they fire before.
  struct Place {
    int level = kLevels - 1;
    int slot = -1;
    size_t left = 0;
  };
  // The slot whose time comes next, and its first tick.
  struct Next {
    int level = 0;
    int slot = 0;
    uint64_t tick = 0;
  };

  static uint64_t TickOf(uint64_t deadline_ns);
  // Puts the timer into its slot. Returns the tick at which the slot begins.
  uint64_t Link(const Timer& timer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves down up to `max` timers of a slot above level 0 whose time has come.
  // Returns how many it moved.
  size_t MoveDown(const Next& next, size_t max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fires up to `max` timers of a slot of level 0. Returns how many it fired.
  size_t Fire(int slot, size_t max, std::vector<uint64_t>& due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the newest timer of a slot. Meant for many calls in a row: it
  // prefetches.
  Timer TakeLast(Slot& timers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To be called after the removal of timers from a slot.
  void Removed(int level, int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Find the slot whose time comes first. False: there is none. FindNext
  // prefers the slot that is being moved down, if any.
  bool FindFirst(Next& next) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool FindNext(Next& next) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The earliest tick of the slot's timers; kNever: the slot has none.
  uint64_t FirstTick(int level, int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Slot& SlotAt(int level, int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return levels_[static_cast<size_t>(level)].slots[static_cast<size_t>(slot)];
  }
  void PublishEarliest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Continues the walk through a crowded wheel.
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves forgetting_ to the next timer that the walk must check, if it is not
  // at one already. False: the walk is complete.
  bool FindToForget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the walk, if any. The wheel becomes crowded again only with more than
  // `room` timers.
  void SetRoom(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  uint64_t now_tick_ ABSL_GUARDED_BY(mutex_);
  Slot::Pool blocks_ ABSL_GUARDED_BY(mutex_);
  std::array<Level, kLevels> levels_ ABSL_GUARDED_BY(mutex_);
  // The slot that is being moved down, because its time has come, and that is
  // not empty yet; level 0: none.
  Next moving_ ABSL_GUARDED_BY(mutex_){};
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t room_ ABSL_GUARDED_BY(mutex_) = Policy::kFewTimers;
  bool is_crowded_ ABSL_GUARDED_BY(mutex_) = false;
  Place forgetting_ ABSL_GUARDED_BY(mutex_){};
  IsWanted is_wanted_ ABSL_GUARDED_BY(mutex_);
  // Written under mutex_.
  Atomic<uint64_t> earliest_ns_{kNever};
};

}  // namespace actord::runtime
