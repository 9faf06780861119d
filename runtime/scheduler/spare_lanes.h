// Lanes for threads that run no workers and act on many processes in a row. The
// shared lane costs a lock and an atomic addition for each message; a spare
// lane costs two locks for all messages of its user.
//
// Bounds: as many lanes as there have been users at a time. They are kept, with
// the buffers in their caches.
//
// Thread-safety: any thread; a TakenLane is for one thread. Ownership:
// SpareLanes owns the lanes, and borrows the pool.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "runtime/counters/counters.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class SpareLanes {
 public:
  explicit SpareLanes(BufferPool& pool) : pool_(pool) {}
  SpareLanes(const SpareLanes&) = delete;
  SpareLanes& operator=(const SpareLanes&) = delete;

  // The lane belongs to the caller until Give.
  [[nodiscard]] Lane& Take() {
    const MutexLock lock(mutex_);
    if (free_.empty()) {
      lanes_.push_back(std::make_unique<Lane>(pool_, Lane::Use::kOneThread));
      return *lanes_.back();
    }
    Lane& lane = *free_.back();
    free_.pop_back();
    return lane;
  }
  // The lane may belong to another thread from now on.
  void Give(Lane& lane) {
    const MutexLock lock(mutex_);
    free_.push_back(&lane);
  }

  // The sum of a counter over all lanes, also over those in use.
  [[nodiscard]] uint64_t Sum(Counter Counters::*counter) const {
    const MutexLock lock(mutex_);
    uint64_t sum = 0;
    for (const auto& lane : lanes_) sum += (lane->counters().*counter).Get();
    return sum;
  }

 private:
  BufferPool& pool_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Lane>> lanes_ ABSL_GUARDED_BY(mutex_);
  // The lanes without a user, the hottest last.
  std::vector<Lane*> free_ ABSL_GUARDED_BY(mutex_);
};

// A spare lane of its thread, and the processes that the thread has made ready
// and not enqueued yet. Borrows the SpareLanes.
class TakenLane {
 public:
  explicit TakenLane(SpareLanes& lanes) : lanes_(lanes), lane_(lanes.Take()) {}
  ~TakenLane() { lanes_.Give(lane_); }
  TakenLane(const TakenLane&) = delete;
  TakenLane& operator=(const TakenLane&) = delete;

  [[nodiscard]] Lane& lane() { return lane_; }
  [[nodiscard]] ReadyList& ready() { return ready_; }

 private:
  SpareLanes& lanes_;
  Lane& lane_;
  ReadyList ready_;
};

}  // namespace actord::runtime
