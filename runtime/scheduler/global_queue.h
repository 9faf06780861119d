// The queue that all workers share. It holds processes that other threads made
// ready, the overflow of local queues, and processes that have to wait their
// turn. Each priority is a level.
//
// A level is first in, first out, as long as only one owner pushes processes.
// When another owner pushes, the queue becomes *fair*: the owners take turns
// (owner_lines.h), and workers take from here in every second turn (worker.h).
// It stops being fair when a single owner has pushed the last kPushesAlone
// processes and no level holds a process of another owner.
//
// The word of the queue is written under the mutex, and only when a level
// becomes empty or non-empty, or the queue becomes fair or stops being fair. So
// every worker can afford to read the word every turn.
//
// Thread-safety: any thread. A process is in at most one queue (activity.h), so
// the number of processes bounds this queue.
// performance-notes: Rare code moved out.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>

#include "runtime/process/owner.h"
#include "runtime/process/priority.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/owner_lines.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class alignas(64) GlobalQueue {
 public:
  // In the word: the queue is fair. It lies above all levels, so a worker that
  // compares the word with a level finds something above it.
  static constexpr uint64_t kFair = uint64_t{1} << kPriorities;

  void Push(Process* process) { PushAll(process->Priority(), {&process, 1}); }

  // All processes must be of this level. Their memory may be cold: it is not
  // read, unless there are owners.
  void PushAll(int level, std::span<Process* const> processes) {
    const MutexLock lock(mutex_);
    ACTORD_ASSERT(IsPriority(level), "priority.h: the level exists");
    ACTORD_ASSERT_HOT(std::all_of(processes.begin(), processes.end(),
                                  [level](const Process* p) {
                                    return p->Priority() == level;
                                  }),
                      "global_queue.h: all processes are of the level");
    Level& queue = levels_[static_cast<size_t>(level)];
    WillChange(&queue);
    if (has_owners_.load(std::memory_order_relaxed)) [[unlikely]] {
      PushOwned(queue, processes);
    } else {
      queue.fifo.insert(queue.fifo.end(), processes.begin(), processes.end());
    }
    AddSize(processes.size());
    SetWord(this->word() | LevelBit(level));
  }

  // From now on processes have owners. Called before the first process of an
  // owner is pushed. Relaxed: a thread that pushes a process has seen what its
  // submitter did before.
  void BeginOwners() {
    if (!has_owners_.load(std::memory_order_relaxed)) {
      has_owners_.store(true, std::memory_order_relaxed);
    }
  }

  // Takes the first processes of one level: up to out.size(), and no more than
  // a fair share of 1/workers, at least 1. If the queue is fair, takes one, so
  // that no process waits behind processes of other owners in a worker's queue.
  // Returns how many it took.
  size_t Take(int level, std::span<Process*> out, size_t workers) {
    const MutexLock lock(mutex_);
    Level& queue = levels_[static_cast<size_t>(level)];
    WillChange(&queue);
    size_t count = 0;
    if (queue.lines.empty()) [[likely]] {
      std::deque<Process*>& fifo = queue.fifo;
      const size_t share = std::min(fifo.size(), fifo.size() / workers + 1);
      count = std::min(share, out.size());
      const auto end = fifo.begin() + static_cast<std::ptrdiff_t>(count);
      std::copy(fifo.begin(), end, out.begin());
      fifo.erase(fifo.begin(), end);
    } else {
      count = queue.lines.Take(out.first(1));
    }
    AddSize(-count);
    if (queue.fifo.empty() && queue.lines.empty()) {
      SetWord(this->word() & ~uint64_t{LevelBit(level)});
    }
    return count;
  }

  // The levels that are not empty, and kFair. seq_cst: pairs with SetWord.
  [[nodiscard]] uint64_t Word() const {
    return word_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] uint32_t levels() const {
    return static_cast<uint32_t>(Word());
  }
  // Relaxed: which process goes first is a choice, and any choice is correct.
  [[nodiscard]] bool IsFair() const {
    return (word_.load(std::memory_order_relaxed) & kFair) != 0;
  }

  // The number of processes of all levels, a moment late, for statistics.
  // Relaxed: nothing else is read because of this number.
  [[nodiscard]] size_t size() const {
    return size_.load(std::memory_order_relaxed);
  }

 private:
  // `more` may be negative, modulo 2^64. Relaxed and without an RMW, because
  // the mutex orders the writers.
  void AddSize(size_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    size_.store(size_.load(std::memory_order_relaxed) + more,
                std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t word() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Unpriced(word_).load(std::memory_order_relaxed);
  }
  void SetWord(uint64_t word) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (this->word() == word) return;
    // seq_cst: a thread that adds work then checks for sleepers. The store
    // pairs with a sleeper's last look (idle_workers.h (3)). If the bit was set
    // already, the store that set it came earlier in the mutex's order.
    word_.store(word, std::memory_order_seq_cst);
  }

  // Either the fifo or the lines are empty. Unless the queue is fair, the lines
  // are empty.
  struct Level {
    std::deque<Process*> fifo;
    OwnerLines lines;
  };

  [[gnu::noinline]] void PushOwned(Level& queue,
                                   std::span<Process* const> processes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (Process* const process : processes) {
      const Owner owner = process->owner.load(std::memory_order_relaxed);
      if (owner != last_owner_) {
        if ((word() & kFair) == 0) BecomeFair();
        last_owner_ = owner;
        pushes_alone_ = 0;
      } else if ((word() & kFair) != 0 &&
                 ++pushes_alone_ >= SchedulerPolicy::kPushesAlone) {
        MayStopBeingFair();
      }
      if ((word() & kFair) != 0) {
        queue.lines.Push(process, owner);
      } else {
        queue.fifo.push_back(process);
      }
    }
  }
  // All processes here are of the last owner: no other has pushed any.
  void BecomeFair() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (Level& level : levels_) {
      level.lines.Adopt(std::exchange(level.fifo, {}), last_owner_);
    }
    SetWord(word() | kFair);
  }
  void MayStopBeingFair() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pushes_alone_ = 0;
    for (const Level& level : levels_) {
      if (!level.lines.HasOnly(last_owner_)) return;
    }
    for (Level& level : levels_) level.fifo = level.lines.Release(last_owner_);
    SetWord(word() & ~kFair);
  }

  Mutex mutex_;
  std::array<Level, kPriorities> levels_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> has_owners_{false};
  Owner last_owner_ ABSL_GUARDED_BY(mutex_) = Owner::kNobody;
  // Pushes by the last owner since another owner pushed or since the queue last
  // checked whether to stop being fair.
  uint32_t pushes_alone_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> size_{0};  // written under mutex_
  // Written under mutex_. In a cache line of its own, because every worker
  // reads it every turn.
  alignas(64) Atomic<uint64_t> word_{0};
};

}  // namespace actord::runtime
