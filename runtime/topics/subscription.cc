#include "runtime/topics/subscription.h"

#include <utility>

namespace actord::runtime {

Subscription::Batch Subscription::Take(const TakeLimits& limits) {
  Batch batch;
  size_t bytes = 0;
  const MutexLock lock(mutex_);
  while (!queue_.empty() && batch.items.size() < limits.items) {
    Waiting& first = queue_.front();
    const size_t size = first.publication->bytes;
    if (!batch.items.empty() && bytes + size > limits.bytes) break;
    bytes += size;
    bytes_ -= size;
    batch.items.push_back({.publication = std::move(first.publication),
                           .sequence = first.sequence,
                           .missed = first.sequence - told_ - 1});
    told_ = first.sequence;
    queue_.pop_front();
  }
  if (queue_.empty()) {
    batch.missed = sequence_ - told_;
    told_ = sequence_;
  }
  if (batch.empty()) waits_ = true;
  return batch;
}

Subscription::Pushed Subscription::Push(const SharedPublication& publication) {
  // Freed after the lock is released.
  std::vector<SharedPublication> dropped;
  const MutexLock lock(mutex_);
  if (listener_ == nullptr) return {};
  while (!queue_.empty() && (queue_.size() >= kMaxPublications ||
                             bytes_ + publication->bytes > kMaxBytes)) {
    bytes_ -= queue_.front().publication->bytes;
    dropped.push_back(std::move(queue_.front().publication));
    queue_.pop_front();
  }
  bytes_ += publication->bytes;
  queue_.push_back({publication, ++sequence_});
  return {.wakes = std::exchange(waits_, false),
          .is_open = true,
          .dropped = dropped.size()};
}

Subscription::Pushed Subscription::Lose() {
  const MutexLock lock(mutex_);
  if (listener_ == nullptr) return {};
  ++sequence_;
  return {.wakes = std::exchange(waits_, false), .is_open = true, .dropped = 1};
}

std::shared_ptr<SubscriptionListener> Subscription::Close() {
  std::deque<Waiting> dropped;
  const MutexLock lock(mutex_);
  dropped.swap(queue_);
  bytes_ = 0;
  waits_ = false;
  return std::exchange(listener_, nullptr);
}

std::shared_ptr<SubscriptionListener> Subscription::listener() const {
  const MutexLock lock(mutex_);
  return listener_;
}

}  // namespace actord::runtime
