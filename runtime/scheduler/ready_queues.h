// The ready processes of one worker. Each priority (level) has a run queue, and
// behind it a second queue, its back, for processes that continue; the back is
// first in, first out. A bitmap marks the levels that may not be empty.
//
// A process that continues lets others go first but stays on its worker. If it
// went to the global queue, all workers would contend there every turn.
//
// Invariants:
//  (1) Only the owner writes the bitmap. Thieves and sleepers read it.
//  (2) A level's bit is set before anything is pushed there. Only the owner
//      clears the bit, after it found the level empty. Thieves add nothing, so
//      an empty level stays empty until its owner pushes. Hence at every
//      instant each level that is not empty has its bit set.
//  (3) A bit is set with seq_cst, before the push. The sleeper's last look
//      (idle_workers.h (3)) reads the bitmap and then the levels in it. It
//      misses no more than a look that reads every level: an owner that pushes
//      and then sees no sleeper has set the bit before that sleeper looks. A
//      bit that was set earlier and not cleared since is seen too. Clearing a
//      bit needs no order: by (2) no thread can miss work because of it.
//  (4) A bit may be set though the level is empty, so a thread that acts on a
//      bit checks the level. The bit of the default level is always set. So
//      while all processes have the default priority, the bitmap is never
//      written.
//
// Thread-safety: as RunQueue; each function says which thread may call it.
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

  // Owner only. False: the level is full. `level` is the priority of the
  // process, whose memory may be cold: it is not read.
  [[nodiscard]] bool Push(Process* process, int level) {
    Mark(level);
    return At(level).Push(process);
  }

  // Owner only. Pushes all processes, the newest last, or none. False: there is
  // no room.
  [[nodiscard]] bool PushAll(std::span<Process* const> processes, int level) {
    Mark(level);
    return At(level).PushAll(processes);
  }

  // Owner only. Pushes to the back, behind all others of the level. False:
  // there is no room.
  [[nodiscard]] bool PushBack(Process* process, int level) {
    Mark(level);
    return BackAt(level).Push(process);
  }

  // Owner only. Null: the level is empty, except perhaps its back.
  Process* PopNewest(int level) { return At(level).PopNewest(); }
  Process* PopOldest(int level) { return At(level).PopOldest(); }
  // Owner only. Pops the oldest process of the back; null: the back is empty.
  Process* PopBack(int level) { return BackAt(level).PopOldest(); }
  // Owner only. Pop the oldest half of the level, or of its back, as RunQueue
  // does.
  uint32_t PopOldestHalf(int level, Level::Batch& out) {
    return At(level).PopOldestHalf(out);
  }
  uint32_t PopBackHalf(int level, Level::Batch& out) {
    return BackAt(level).PopOldestHalf(out);
  }

  // Owner only. Precondition: pops have just found the level and its back
  // empty.
  void FoundEmpty(int level) {
    ACTORD_ASSERT_HOT(IsEmpty(level), "ready_queues.h (2)");
    if (level == kDefaultPriority) return;  // (4)
    levels_.store(levels() & ~LevelBit(level), std::memory_order_relaxed);
  }

  // Owner only. Moves half of the victim's highest non-empty level here and
  // returns the oldest process of that half. The half is the oldest of the
  // level's back, or of the level itself if its back is empty. Null: the victim
  // had nothing. Precondition: all levels are empty here.
  //
  // The victim would run its back last. Also, a producer that continues brings
  // its future work along to the thief. A thief that took the producer's
  // children would fetch each child out of the victim's cache.
  Process* StealFrom(ReadyQueues& victim) {
    uint32_t levels = victim.levels();
    while (levels != 0) {
      const int level = HighestLevel(levels);
      if (victim.BackAt(level).Size() != 0) {
        ACTORD_ASSERT_HOT(SizeOf() == 0,
                          "ready_queues.h: all levels are empty");
        Mark(level);
        Process* first = victim.BackAt(level).StealInto(BackAt(level));
        if (first != nullptr) return first;
      }
      if (victim.At(level).Size() != 0) {
        ACTORD_ASSERT_HOT(SizeOf() == 0,
                          "ready_queues.h: all levels are empty");
        Mark(level);
        Process* first = victim.At(level).StealInto(At(level));
        if (first != nullptr) return first;
      }
      levels &= ~LevelBit(level);
    }
    return nullptr;
  }

  // Owner only. Like StealFrom, but only from this level, without its back.
  // Precondition: the level is empty here, except perhaps its back.
  Process* StealReady(ReadyQueues& victim, int level) {
    ACTORD_ASSERT_HOT(Size(level) == 0, "ready_queues.h: the level is empty");
    if (victim.At(level).Size() == 0) return nullptr;
    Mark(level);
    return victim.At(level).StealInto(At(level));
  }

  // Any thread. The levels that may not be empty. seq_cst, for (3).
  [[nodiscard]] uint32_t levels() const {
    return levels_.load(std::memory_order_seq_cst);
  }
  // Any thread. The levels that may not be empty, without the empty levels
  // above the highest non-empty one; 0: nothing is ready. A moment's view.
  [[nodiscard]] uint32_t NonEmptyFromTop() const {
    uint32_t levels = this->levels();
    while (levels != 0 && IsEmpty(HighestLevel(levels))) {
      levels &= ~LevelBit(HighestLevel(levels));
    }
    return levels;
  }
  // Any thread. The number of processes in the level, without its back. A
  // moment's view.
  [[nodiscard]] size_t Size(int level) const {
    return queues_[static_cast<size_t>(level)].Size();
  }
  // Any thread. True: the level and its back are empty. A moment's view.
  [[nodiscard]] bool IsEmpty(int level) const {
    return Size(level) == 0 && backs_[static_cast<size_t>(level)].Size() == 0;
  }
  // Any thread. The number of processes in these levels together, with their
  // backs. A moment's view.
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

  // In a cache line of its own, because the owner reads it every turn.
  alignas(64) Atomic<uint32_t> levels_{LevelBit(kDefaultPriority)};
  // Each array takes 66 KiB. An unused level costs address space and cold
  // memory.
  std::array<Level, kPriorities> queues_;
  std::array<Level, kPriorities> backs_;
};

}  // namespace actord::runtime
