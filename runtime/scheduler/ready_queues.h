// What is ready on one worker: for each priority a run queue, and behind it
// another one for processes that continue, which is first in, first out; and a
// bitmap of the levels that may not be empty.
//
// Whoever continues stays on its worker, though it lets others go first: were
// it sent to the global queue, all workers would meet there every turn.
//
// Invariants:
//  (1) Only the owner writes the bitmap. Thieves and sleepers read it.
//  (2) A level's bit is set before anything is pushed there, and taken away
//      only by the owner, after it found the level empty. Thieves add nothing,
//      so an empty level stays empty until its owner pushes. Hence at every
//      instant: what is not empty has its bit.
//  (3) A bit is set with seq_cst, before the push. So the sleeper's last look
//      (idle_workers.h (3)), which reads the bitmap and then the levels in it,
//      misses no more than one that reads every level: whoever pushes and then
//      sees no sleeper has set the bit before that sleeper looks. The bit that
//      was set long ago, and not taken away since, is seen all the more.
//      Taking it away needs no order: by (2) nobody can miss anything by it.
//  (4) A bit may be set though the level is empty: whoever acts on it looks at
//      the level. The bit of the default level is always set. So as long as all
//      processes are of that level, the bitmap is never written.
//
// Thread-safety: as RunQueue; each function says whose it is.
// performance-notes: Rare code moved out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/process/priority.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/run_queue.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

class ReadyQueues {
 public:
  using Level = RunQueue<Process>;

  // Owner only. False: the level is full. `level` is that of the process, which
  // may be cold memory.
  [[nodiscard]] bool Push(Process* process, int level) {
    Mark(level);
    return At(level).Push(process);
  }

  // Owner only: all of them, the newest last, or none. False: there is no room.
  [[nodiscard]] bool PushAll(std::span<Process* const> processes, int level) {
    Mark(level);
    return At(level).PushAll(processes);
  }

  // Owner only. Behind all others of the level. False: there is no room.
  [[nodiscard]] bool PushBack(Process* process, int level) {
    Mark(level);
    return BackAt(level).Push(process);
  }

  // Owner only. Null: that level is empty, but perhaps for its back.
  Process* PopNewest(int level) { return At(level).PopNewest(); }
  Process* PopOldest(int level) { return At(level).PopOldest(); }
  // Owner only: the oldest of those that were pushed back; null: there is none.
  Process* PopBack(int level) { return BackAt(level).PopOldest(); }
  // Owner only: the oldest half of the level, as RunQueue; and of its back.
  uint32_t PopOldestHalf(int level, Level::Batch& out) {
    return At(level).PopOldestHalf(out);
  }
  uint32_t PopBackHalf(int level, Level::Batch& out) {
    return BackAt(level).PopOldestHalf(out);
  }

  // Owner only: pops have just found the level empty, and its back.
  void FoundEmpty(int level) {
    ACTORD_ASSERT_HOT(IsEmpty(level), "ready_queues.h (2)");
    if (level == kDefaultPriority) return;  // (4)
    levels_.store(levels() & ~LevelBit(level), std::memory_order_relaxed);
  }

  // Owner only: moves the oldest half of the back of the victim's highest level
  // here, or of the level itself if nobody continues there, and returns the
  // oldest of all. Null: nothing was there. Precondition: all is empty here.
  //
  // The back is what the victim would run last. And who makes work and
  // continues to make more brings it along: a thief that took what was made
  // would fetch each of it out of the victim's cache.
  Process* StealFrom(ReadyQueues& victim) {
    uint32_t levels = victim.levels();
    while (levels != 0) {
      const int level = HighestLevel(levels);
      if (victim.BackAt(level).Size() != 0) {
        ACTORD_ASSERT_HOT(SizeOf() == 0,
                          "ready_queues.h: nothing is ready here");
        Mark(level);
        Process* first = victim.BackAt(level).StealInto(BackAt(level));
        if (first != nullptr) return first;
      }
      if (victim.At(level).Size() != 0) {
        ACTORD_ASSERT_HOT(SizeOf() == 0,
                          "ready_queues.h: nothing is ready here");
        Mark(level);
        Process* first = victim.At(level).StealInto(At(level));
        if (first != nullptr) return first;
      }
      levels &= ~LevelBit(level);
    }
    return nullptr;
  }

  // Owner only: likewise, but only of this level, without its back.
  // Precondition: the level is empty here, but perhaps for its back.
  Process* StealReady(ReadyQueues& victim, int level) {
    ACTORD_ASSERT_HOT(Size(level) == 0, "ready_queues.h: the level is empty");
    if (victim.At(level).Size() == 0) return nullptr;
    Mark(level);
    return victim.At(level).StealInto(At(level));
  }

  // Any thread. The levels that may not be empty; seq_cst: (3).
  [[nodiscard]] uint32_t levels() const {
    return levels_.load(std::memory_order_seq_cst);
  }
  // Any thread. The levels that may not be empty, but for those above the
  // highest that has something; 0: nothing is ready. A moment's view.
  [[nodiscard]] uint32_t NonEmptyFromTop() const {
    uint32_t levels = this->levels();
    while (levels != 0 && IsEmpty(HighestLevel(levels))) {
      levels &= ~LevelBit(HighestLevel(levels));
    }
    return levels;
  }
  // Any thread. How many there are, those pushed back left out. A moment's
  // view.
  [[nodiscard]] size_t Size(int level) const {
    return queues_[static_cast<size_t>(level)].Size();
  }
  // Any thread. Nothing is there, and nobody was pushed back. Likewise.
  [[nodiscard]] bool IsEmpty(int level) const {
    return Size(level) == 0 && backs_[static_cast<size_t>(level)].Size() == 0;
  }
  // Any thread. How many there are in these levels together; likewise.
  [[nodiscard]] size_t SizeOf(uint32_t among = kAllLevels) const {
    size_t size = 0;
    for (uint32_t left = levels() & among; left != 0; left &= left - 1) {
      const auto level = static_cast<size_t>(LowestLevel(left));
      size += queues_[level].Size() + backs_[level].Size();
    }
    return size;
  }

 private:
  Level& At(int level) { return queues_[static_cast<size_t>(level)]; }
  Level& BackAt(int level) { return backs_[static_cast<size_t>(level)]; }
  void Mark(int level) {
    const uint32_t levels = Unpriced(levels_).load(std::memory_order_relaxed);
    ACTORD_ASSERT_HOT((levels & LevelBit(kDefaultPriority)) != 0,
                      "ready_queues.h (4)");
    ACTORD_ASSERT_HOT((levels & LevelBit(level)) != 0 || IsEmpty(level),
                      "ready_queues.h (2), (3)");
    if ((levels & LevelBit(level)) == 0) [[unlikely]] {
      FailPoint();
      levels_.store(levels | LevelBit(level), std::memory_order_seq_cst);
      ACTORD_ASSERT_HOT(levels_.load() == (levels | LevelBit(level)),
                        "ready_queues.h (1)");
    }
  }

  // A line of its own: the owner reads it every turn.
  alignas(64) Atomic<uint32_t> levels_{LevelBit(kDefaultPriority)};
  // 66 KiB each. A level that is not used costs address space and cold memory.
  std::array<Level, kPriorities> queues_;
  std::array<Level, kPriorities> backs_;
};

}  // namespace actord::runtime
