// Timers of one worker: a hierarchical timing wheel (Varghese and Lauck, 1987),
// so that adding and firing cost the same with a million timers as with one.
//
// A tick is 2^16 ns (65.5 µs); deadlines are rounded up to a tick, so that a
// timer is never early and by the wheel at most a tick late. Level L has 256
// slots of 256^L ticks (level 0 spans 16.8 ms, level 1 4.3 s); 6 levels reach
// 585 years. A timer lies in the slot of the highest 8-bit digit in which its
// deadline differs from now, and moves down when that slot's time comes: some
// at a time, so that whoever adds a timer never waits for a whole slot of them.
// Levels are wide and few, so that most timers move once.
//
// Nothing is cancelled: whoever does not want a timer any more lets it be, and
// finds out when it fires. So the wheel touches nothing but its own arrays; the
// memory of what a timer is for is cold when it moves. A wheel is crowded when
// it holds more than max(SchedulerPolicy::kFewTimers, twice the timers that the
// last walk through all of them left), or four times those that firing has left
// since. A crowded wheel is walked through again, and the timers that nobody
// wants are forgotten: each Add checks kTimersCheckedPerAdd of them, as an
// incremental garbage collector does its work when memory is taken.
//
// Thread-safety: any thread. Timers run no code here: Advance hands out the
// values that they carry.
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

  // Whether somebody still waits for the timer that carries `value`. What is
  // false once must stay so. Called under the wheel's lock, of a value that was
  // added before: so it sees what its adder saw.
  using IsWanted = absl::AnyInvocable<bool(uint64_t value) const>;

  explicit TimerWheel(uint64_t now_ns) : now_tick_(now_ns >> kTickShift) {}
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Once, before the first Add. Without it none are forgotten.
  void SetIsWanted(IsWanted is_wanted) {
    const MutexLock lock(mutex_);
    is_wanted_ = std::move(is_wanted);
  }

  // `value` is handed out once, when `deadline_ns` is past.
  void Add(uint64_t value, uint64_t deadline_ns);

  // Appends the values of timers that are due to `due`, at most `max`. If
  // EarliestNs is past afterwards, more may be due, though `due` be empty.
  void Advance(uint64_t now_ns, size_t max, std::vector<uint64_t>& due);

  // When the first timer is due, to the tick; kNever: there is none. It walks
  // whole slots, and is for tests.
  uint64_t FirstDueNs();
  // Timers in it, wanted or not; for tests.
  size_t Size() {
    const MutexLock lock(mutex_);
    return size_;
  }

  // No timer is due before this time; kNever: there is none. A lower bound,
  // readable without a lock; it may be past though nothing is due, because a
  // slot begins before its timers are due, and because some were forgotten.
  // Advance, once or again, then finds a later one. seq_cst: a sleeper reads it
  // after it has published itself (idle_workers.h).
  uint64_t EarliestNs() const {
    return earliest_ns_.load(std::memory_order_seq_cst);
  }

 private:
  using Policy = SchedulerPolicy;

  struct Timer {
    uint64_t value;
    uint64_t tick;
  };
  // Some 100,000 timers may come and go in one of them.
  using Slot = BlockStack<Timer>;
  struct Level {
    static constexpr int kWordBits = 64;

    // Bit s: slots[s] is not empty.
    std::array<uint64_t, kSlots / kWordBits> occupied{};
    std::array<Slot, kSlots> slots;

    void SetOccupied(int slot) { WordOf(slot) |= BitOf(slot); }
    void SetEmpty(int slot) { WordOf(slot) &= ~BitOf(slot); }
    // From `slot` on; kSlots: all are empty.
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
  // Where a walk is: it goes from the highest level to the lowest, as timers
  // move, and in a slot from the newest to the oldest, of which so many are
  // left. So it comes to all that were there when it began, unless they fire
  // before.
  struct Place {
    int level = kLevels - 1;
    int slot = -1;
    size_t left = 0;
  };
  // A slot whose time comes next.
  struct Next {
    int level = 0;
    int slot = 0;
    uint64_t tick = 0;
  };

  static uint64_t TickOf(uint64_t deadline_ns);
  // Returns the tick at which its slot begins.
  uint64_t Link(const Timer& timer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Up to `max` of the slot above level 0 whose time has come. Returns how
  // many.
  size_t MoveDown(const Next& next, size_t max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Up to `max` of a slot of level 0. Returns how many.
  size_t Fire(int slot, size_t max, std::vector<uint64_t>& due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of many that are taken in a row.
  Timer TakeLast(Slot& timers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After the removal of timers.
  void Removed(int level, int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: there is none. FindNext: the one that is being moved down, if any.
  bool FindFirst(Next& next) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool FindNext(Next& next) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The first tick of its timers; kNever: it has none.
  uint64_t FirstTick(int level, int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Slot& SlotAt(int level, int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return levels_[static_cast<size_t>(level)].slots[static_cast<size_t>(slot)];
  }
  void PublishEarliest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Goes on with the walk through a crowded wheel.
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether forgetting_ is, or could be moved, where there is a timer.
  bool FindToForget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // It is crowded only with more than that.
  void SetRoom(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  uint64_t now_tick_ ABSL_GUARDED_BY(mutex_);
  Slot::Pool blocks_ ABSL_GUARDED_BY(mutex_);
  std::array<Level, kLevels> levels_ ABSL_GUARDED_BY(mutex_);
  // The slot that is being moved down, since its time has come, and not empty
  // yet; level 0: none.
  Next moving_ ABSL_GUARDED_BY(mutex_){};
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t room_ ABSL_GUARDED_BY(mutex_) = Policy::kFewTimers;
  bool is_crowded_ ABSL_GUARDED_BY(mutex_) = false;
  Place forgetting_ ABSL_GUARDED_BY(mutex_){};
  IsWanted is_wanted_ ABSL_GUARDED_BY(mutex_);
  Atomic<uint64_t> earliest_ns_{kNever};  // written under mutex_
};

}  // namespace actord::runtime
