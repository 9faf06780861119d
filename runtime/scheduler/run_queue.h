// The run queue of one worker: a bounded, lock-free ring. Its owner pushes, and
// pops the newest or the oldest item. Thieves take the oldest half with one
// CAS.
//
// Invariants:
//  (1) One word holds bottom:16 | top:16 | tag:32. Every change is an RMW of
//      that word, so all changes have one order. size = bottom - top (mod
//      2^16).
//  (2) Slots [top, bottom) are published: no thread writes them. Only the owner
//      writes the other slots, before the add to `bottom` that publishes them.
//  (3) Every removal adds 1 to the tag. So a thief's CAS succeeds only if
//      nothing was removed or added since the thief read the word. Then the
//      thief takes exactly the items that it copied. (The tag could fool the
//      thief only after 2^32 removals within one steal.)
//  (4) A thief's copy may be stale or torn by reuse of the slot. The thief does
//      not use the copy before its CAS has succeeded.
//
// A plain Chase-Lev deque does not allow (3): its owner pops without an RMW
// while two or more items are left, so a thief of several items could take an
// item that the owner took as well. Stealing half is taken from Go's run queue.
// performance-notes: Inlined by force.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

template <typename T, uint32_t kSlots = SchedulerPolicy::kLevelCapacity>
class RunQueue {
  static_assert(kSlots <= 1 << 15 && (kSlots & (kSlots - 1)) == 0);

 public:
  static constexpr uint32_t kCapacity = kSlots;
  using Batch = std::array<T*, kSlots / 2>;

  // Owner only. False: the queue is full.
  [[nodiscard]] bool Push(T* item) {
    return PushAll(std::span<T* const, 1>(&item, 1));
  }

  // Owner only. Pushes all items, the newest last, with one add. False: there
  // is no room for all, and none is pushed. Inlined, so that Push, with its
  // constant size of 1, has no loop.
  template <size_t kExtent>
  [[nodiscard, gnu::always_inline]] bool PushAll(
      std::span<T* const, kExtent> items) {
    const uint64_t word = word_.load(std::memory_order_relaxed);
    ACTORD_ASSERT_HOT(Size(word) <= kSlots, "run_queue.h (1)");
    // Thieves may have made more room meanwhile, never less.
    if (Size(word) + items.size() > kSlots) return false;
    for (uint32_t i = 0; i < items.size(); ++i) {
      Slot(Bottom(word) + i).store(items[i], std::memory_order_relaxed);
      FailPoint();
    }
    // Release publishes the slots. seq_cst: the caller then checks for
    // sleepers. The add pairs with the sleeper's last look (idle_workers.h
    // (3)).
    word_.fetch_add(items.size() * kBottomOne, std::memory_order_seq_cst);
    return true;
  }

  // Owner only. Null: the queue is empty.
  T* PopNewest() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (Size(word) != 0) {
      // By (2) this slot is stable: only the owner removes at the bottom.
      T* item = Slot(Bottom(word) - 1).load(std::memory_order_relaxed);
      ACTORD_ASSERT_HOT(item != nullptr, "run_queue.h (2)");
      if (Replace(word, word - kBottomOne)) return item;
    }
    return nullptr;
  }

  // Owner only. Null: the queue is empty.
  T* PopOldest() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (Size(word) != 0) {
      T* item = Slot(Top(word)).load(std::memory_order_relaxed);
      if (Replace(word, AddTop(word, 1))) return item;
    }
    return nullptr;
  }

  // Owner only. Removes the oldest half (rounded up), for the global queue.
  // Returns how many items it removed.
  uint32_t PopOldestHalf(Batch& out) {
    return TakeHalf([&out](uint32_t i) -> T*& { return out[i]; });
  }

  // Owner of `into` only. Moves the oldest half (rounded up) of this queue to
  // `into`, except the oldest item, which it returns to be run at once. Null:
  // this queue was empty. Precondition: `into` is empty, so that its
  // unpublished slots can take the copies (2) and one add publishes them all.
  T* StealInto(RunQueue& into) {
    ACTORD_ASSERT_HOT(into.Size() == 0,
                      "run_queue.h (2): the thief's queue is empty");
    T* first = nullptr;
    const uint32_t begin =
        Bottom(Unpriced(into.word_).load(std::memory_order_relaxed)) - 1;
    const uint32_t count = TakeHalf([&](uint32_t i) {
      return Target{i == 0 ? nullptr : &into.Slot(begin + i), &first};
    });
    // A copy whose CAS failed may have left a stale item in `first` (4).
    if (count == 0) return nullptr;
    ACTORD_ASSERT_HOT(first != nullptr, "run_queue.h (3), (4)");
    FailPoint();
    if (count > 1) {
      into.word_.fetch_add((count - 1) * kBottomOne, std::memory_order_seq_cst);
    }
    return first;
  }

  // Any thread. A moment's view. seq_cst, for the sleeper's last look.
  uint32_t Size() const { return Size(word_.load(std::memory_order_seq_cst)); }

 private:
  static constexpr uint64_t kBottomOne = uint64_t{1} << 48;
  static constexpr uint64_t kTopMask = uint64_t{0xffff} << 32;

  static uint32_t Bottom(uint64_t word) {
    return static_cast<uint32_t>(word >> 48);
  }
  static uint32_t Top(uint64_t word) {
    return static_cast<uint32_t>(word >> 32) & 0xffff;
  }
  static uint32_t Size(uint64_t word) {
    return (Bottom(word) - Top(word)) & 0xffff;
  }
  // Adds to `top` without a carry into `bottom`.
  static uint64_t AddTop(uint64_t word, uint32_t count) {
    const uint64_t top = uint64_t{(Top(word) + count) & 0xffff} << 32;
    return (word & ~kTopMask) | top;
  }

  // The target of a copy: a slot of the thief's queue, or a variable (the
  // hand).
  struct Target {
    Atomic<T*>* slot;
    T** hand;
    void operator=(T* item) const {
      if (slot != nullptr) {
        slot->store(item, std::memory_order_relaxed);
      } else {
        *hand = item;
      }
    }
  };

  Atomic<T*>& Slot(uint32_t index) { return slots_[index & (kSlots - 1)]; }

  // Replaces `word` by `next` with a new tag. False: the CAS failed, and `word`
  // is reloaded.
  bool Replace(uint64_t& word, uint64_t next) {
    FailPoint();
    const uint32_t tag = static_cast<uint32_t>(word) + 1;
    next = (next & ~uint64_t{UINT32_MAX}) | tag;
    return word_.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                       std::memory_order_acquire);
  }

  // Copies the oldest half to `target(0)`, `target(1)` …, then removes it from
  // this queue.
  template <typename TargetOf>
  uint32_t TakeHalf(TargetOf target) {
    // Acquire: pairs with the push that published the slots.
    uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      const uint32_t size = Size(word);
      const uint32_t count = size - size / 2;
      if (count == 0) return 0;
      for (uint32_t i = 0; i < count; ++i) {
        target(i) = Slot(Top(word) + i).load(std::memory_order_relaxed);
      }
      if (Replace(word, AddTop(word, count))) return count;
    }
  }

  alignas(64) Atomic<uint64_t> word_{0};
  alignas(64) std::array<Atomic<T*>, kSlots> slots_{};
};

}  // namespace actord::runtime
