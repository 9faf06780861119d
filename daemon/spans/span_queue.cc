#include "daemon/spans/span_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace actord::daemon {

void SpanQueue::Push(EndedSpan span) {
  const absl::MutexLock lock(&mutex_);
  if (is_closed_ || spans_.size() >= options_.max_spans) {
    ++dropped_;
    return;
  }
  spans_.push_back(std::move(span));
}

std::vector<EndedSpan> SpanQueue::TakeBatch() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &SpanQueue::HasSpan));
  mutex_.AwaitWithTimeout(absl::Condition(this, &SpanQueue::HasBatch),
                          options_.batch_wait);
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                        spans_.size(), options_.batch_spans));
  std::vector<EndedSpan> batch(std::make_move_iterator(spans_.begin()),
                               std::make_move_iterator(end));
  spans_.erase(spans_.begin(), end);
  return batch;
}

void SpanQueue::Pause(absl::Duration time) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&is_closed_), time);
}

void SpanQueue::Close() {
  const absl::MutexLock lock(&mutex_);
  is_closed_ = true;
}

void SpanQueue::Clear() {
  const absl::MutexLock lock(&mutex_);
  dropped_ += spans_.size();
  spans_.clear();
}

void SpanQueue::CountDropped(uint64_t spans) {
  const absl::MutexLock lock(&mutex_);
  dropped_ += spans;
}

bool SpanQueue::IsClosed() const {
  const absl::MutexLock lock(&mutex_);
  return is_closed_;
}

uint64_t SpanQueue::dropped() const {
  const absl::MutexLock lock(&mutex_);
  return dropped_;
}

}  // namespace actord::daemon
