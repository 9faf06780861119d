#include "runtime/scheduler/idle_workers.h"

#include <algorithm>

#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

bool IdleWorkers::EndSleep(int worker) {
  const MutexLock lock(mutex_);
  const auto it = std::find(stack_.begin(), stack_.end(), worker);
  if (it == stack_.end()) return false;
  stack_.erase(it);
  const int before = sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  ACTORD_ASSERT(stack_.size() + 1 == SizeFor(before), "idle_workers.h (6)");
  return true;
}

int IdleWorkers::ClaimForWork() {
  if (sleepers_.load(std::memory_order_seq_cst) == 0 || searchers() != 0) {
    return kNobody;
  }
  // Count a searcher only when a sleeper was found: other threads rely on the
  // count.
  const MutexLock lock(mutex_);
  if (stack_.empty()) return kNobody;
  int nobody = 0;
  if (!searchers_.compare_exchange_strong(nobody, 1,
                                          std::memory_order_seq_cst)) {
    return kNobody;
  }
  ACTORD_ASSERT(searchers_.load() > 0, "idle_workers.h (1)");
  const int worker = stack_.back();
  stack_.pop_back();
  const int before = sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  ACTORD_ASSERT(stack_.size() + 1 == SizeFor(before), "idle_workers.h (6)");
  return worker;
}

}  // namespace actord::runtime
