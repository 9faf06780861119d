#include "runtime/scheduler/hold.h"

#include <utility>

#include "runtime/scheduler/scheduler.h"
#include "runtime/system/all_threads_fence.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

bool Hold::CanTake() { return CanFenceAllThreads(); }

WorkerQueue* Hold::GiveUp() {
  const MutexLock lock(mutex_);
  return std::exchange(queue_, nullptr);
}

void Hold::Give(WorkerQueue& queue) {
  const MutexLock lock(mutex_);
  ACTORD_ASSERT(queue_ == nullptr && !taken_,
                "hold.h: the thread has no worker");
  queue_ = &queue;
  last_queue_ = &queue;
  // Release: a thread that examines the holder's calls sees the holder's state.
  queue.holder.store(this, std::memory_order_release);
}

std::optional<Hold::PluginCall> Hold::CallUnderWay() const {
  // Acquire, for (1): the two values below belong to this call or a later one.
  const uint64_t number = calls_.load(std::memory_order_acquire);
  if ((number & 1) == 0) return std::nullopt;
  return PluginCall{number, process_.load(std::memory_order_relaxed),
                    name_.load(std::memory_order_relaxed)};
}

bool Hold::TryTake(const WorkerQueue& queue, uint64_t number) {
  if (!CanTake()) return false;
  ACTORD_ASSERT((number & 1) == 1, "hold.h (2): the thread was in a call");
  const MutexLock lock(mutex_);
  // The thread may hold another worker by now, or its worker was taken and the
  // thread has not noticed yet.
  if (queue_ != &queue || taken_) return false;
  wanted_.store(true, std::memory_order_relaxed);
  FailPoint();
  FenceAllThreads();
  // Acquire: the taker sees the thread's changes of the worker before the call.
  taken_ = calls_.load(std::memory_order_acquire) == number;
  if (!taken_) wanted_.store(false, std::memory_order_relaxed);
  return taken_;
}

void Hold::ComeBack() {
  // Waits for a taker that is deciding.
  const MutexLock lock(mutex_);
  if (!std::exchange(taken_, false)) return;
  ACTORD_ASSERT(queue_ != nullptr, "hold.h (3)");
  ACTORD_ASSERT(wanted_.load(), "hold.h (4)");
  queue_ = nullptr;
  wanted_.store(false, std::memory_order_relaxed);
}

}  // namespace actord::runtime
