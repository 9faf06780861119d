// The spans that wait for the exporter. Above the limit a new span is dropped
// and counted, so a slow collector costs memory for the limit at most, and no
// time.
//
// Thread-safety: any thread may call Push, Close and the counts; one thread
// takes batches. The lock is held for as long as it takes to move a span or a
// batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/spans/ended_span.h"

namespace actord::daemon {

class SpanQueue {
 public:
  struct Options {
    size_t max_spans = 4096;
    size_t batch_spans = 512;
    // How long the first span of a batch waits for the others.
    absl::Duration batch_wait = absl::Seconds(1);
  };

  explicit SpanQueue(const Options& options) : options_(options) {}

  // Adds the span, or drops it: the queue is full or closed.
  void Push(EndedSpan span);
  // Waits for a batch, and takes it. Empty: the queue is closed and empty.
  std::vector<EndedSpan> TakeBatch();
  // Waits until the time has passed or the queue is closed.
  void Pause(absl::Duration time);
  // Ends the waits. Later spans are dropped.
  void Close();
  // Drops all spans.
  void Clear();
  // Counts spans that were taken and did not reach the collector.
  void CountDropped(uint64_t spans);

  [[nodiscard]] bool IsClosed() const;
  [[nodiscard]] uint64_t dropped() const;

 private:
  [[nodiscard]] bool HasSpan() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_closed_ || !spans_.empty();
  }
  [[nodiscard]] bool HasBatch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_closed_ || spans_.size() >= options_.batch_spans;
  }

  const Options options_;
  mutable absl::Mutex mutex_;
  std::deque<EndedSpan> spans_ ABSL_GUARDED_BY(mutex_);
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::daemon
