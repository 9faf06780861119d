// Timers of one worker: a hierarchical timing wheel (Varghese and Lauck, 1987),
// so that adding, cancelling and firing cost the same with a million timers as
// with one.
//
// A tick is 2^16 ns (65.5 µs); deadlines are rounded up to a tick, so that a
// timer is never early and by the wheel at most a tick late. Level L has 256
// slots of 256^L ticks (level 0 spans 16.8 ms, level 1 4.3 s); 6 levels reach
// 585 years. A timer lies in the slot of the highest 8-bit digit in which its
// deadline differs from now, and moves down when that slot's time comes: some
// at a time, so that whoever adds a timer never waits for a whole slot of them.
// To move is most of what a timer costs, as its memory is cold by then; so
// levels are wide and few.
//
// Thread-safety: any thread. Timers run no code here: Advance hands out the
// values that they carry.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/block_stack.h"
#include "runtime/fail_point.h"
#include "runtime/mutex.h"

namespace actord::runtime {

class TimerWheel {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr int kTickShift = 16;
  static constexpr int kLevelBits = 8;
  static constexpr int kSlots = 1 << kLevelBits;
  static constexpr int kLevels = 6;

  // Part of what it belongs to; must be cancelled or have fired before its
  // memory becomes something else.
  class Timer {
   public:
    uint64_t value = 0;  // handed out by Advance

    // False: it is in no wheel, and Cancel has nothing to do. Any thread. It
    // may be true for nothing. seq_cst: whoever first changes what
    // `still_wanted` of an Add looks at, and then looks here, finds true, or
    // that Add will be told so.
    [[nodiscard]] bool MayBeInWheel() const {
      return may_be_in.load(std::memory_order_seq_cst);
    }

   private:
    friend class TimerWheel;
    static constexpr uint32_t kNone = UINT32_MAX;
    // Guarded by the wheel's mutex. Where in its slot; kNone: not in a wheel.
    uint32_t index = kNone;
    uint8_t level = 0;
    uint8_t slot = 0;
    static_assert(kSlots - 1 <= UINT8_MAX);
    // Made false under the wheel's mutex, when it leaves the wheel.
    std::atomic<bool> may_be_in{false};
  };

  explicit TimerWheel(uint64_t now_ns) : now_tick_(now_ns >> kTickShift) {}
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Arms the timer if `still_wanted()` says so under the wheel's lock; moves it
  // if it is armed. Returns whether it is armed now.
  template <typename Predicate>
  bool Add(Timer& timer, uint64_t deadline_ns, Predicate still_wanted) {
    const MutexLock lock(mutex_);
    // Here, since Advance makes it false, and before the question.
    timer.may_be_in.store(true, std::memory_order_seq_cst);
    FailPoint();
    if (!still_wanted()) return false;
    Unlink(timer);
    Link(timer, std::max(TickOf(deadline_ns), now_tick_));
    PublishEarliest();
    return true;
  }

  // Takes it out if it is in. Afterwards Advance will not hand it out.
  void Cancel(Timer& timer) {
    const MutexLock lock(mutex_);
    Unlink(timer);
    timer.may_be_in.store(false, std::memory_order_release);
    // The earliest time stays as it is: too early costs one fruitless look.
  }

  // Appends the values of timers that are due to `due`, at most `max`. If
  // EarliestNs is past afterwards, more may be due, though `due` be empty.
  void Advance(uint64_t now_ns, size_t max, std::vector<uint64_t>& due);

  // When the first timer is due, to the tick; kNever: there is none. It walks
  // whole slots, and is for tests.
  uint64_t FirstDueNs();

  // No timer is due before this time; kNever: there is none. A lower bound,
  // readable without a lock; it may be past though nothing is due, because a
  // slot begins before its timers are due, and because one was cancelled.
  // Advance, once or again, then finds a later one. seq_cst: a sleeper reads it
  // after it has published itself (idle_workers.h).
  uint64_t EarliestNs() const {
    WillRead(&earliest_ns_);
    return earliest_ns_.load(std::memory_order_seq_cst);
  }

 private:
  // Timers that one Advance moves down: some 10 to 50 µs.
  static constexpr size_t kMovesAtOnce = 1024;

  struct Entry {
    Timer* timer;
    uint64_t tick;
  };
  // Some 100,000 timers may come and go in one of them.
  using Slot = BlockStack<Entry>;
  struct Level {
    static constexpr int kWordBits = 64;

    // Bit s: slots[s] is not empty.
    std::array<uint64_t, kSlots / kWordBits> occupied{};
    std::array<Slot, kSlots> slots;

    void SetOccupied(int slot) { WordOf(slot) |= BitOf(slot); }
    void SetEmpty(int slot) { WordOf(slot) &= ~BitOf(slot); }
    // kSlots: all are empty.
    [[nodiscard]] int FirstOccupied() const {
      int first = 0;
      for (const uint64_t word : occupied) {
        if (word != 0) return first + std::countr_zero(word);
        first += kWordBits;
      }
      return first;
    }

   private:
    uint64_t& WordOf(int slot) {
      return occupied[static_cast<size_t>(slot / kWordBits)];
    }
    static uint64_t BitOf(int slot) { return uint64_t{1} << slot % kWordBits; }
  };
  // A slot whose time comes next.
  struct Next {
    int level = 0;
    int slot = 0;
    uint64_t tick = 0;
  };

  static uint64_t TickOf(uint64_t deadline_ns);
  void Link(Timer& timer, uint64_t tick) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlink(Timer& timer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Up to `max` of the slot above level 0 whose time has come. Returns how
  // many.
  size_t MoveDown(const Next& next, size_t max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Up to `max` of a slot of level 0. Returns how many.
  size_t Fire(int slot, size_t max, std::vector<uint64_t>& due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of many that are taken in a row.
  Entry TakeLast(Slot& entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After the removal of entries.
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

  Mutex mutex_;
  uint64_t now_tick_ ABSL_GUARDED_BY(mutex_);
  std::array<Level, kLevels> levels_ ABSL_GUARDED_BY(mutex_);
  Slot::Pool blocks_ ABSL_GUARDED_BY(mutex_);
  // The slot that is being moved down, since its time has come, and not empty
  // yet; level 0: none.
  Next moving_ ABSL_GUARDED_BY(mutex_){};
  std::atomic<uint64_t> earliest_ns_{kNever};  // written under mutex_
};

}  // namespace actord::runtime
