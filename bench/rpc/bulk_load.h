// The load of the bulk workloads: one stream on which requests follow each
// other as fast as gRPC accepts them, while all responses are read.
//
// Thread-safety: the given functions run under a lock, on gRPC's threads and on
// the threads that call Begin and Nudge.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "bench/bench_runtime.h"

namespace actord::bench {

template <typename Request, typename Response>
class BulkLoad final : public grpc::ClientBidiReactor<Request, Response> {
 public:
  // Returns the next request to write. Null means that the next response must
  // arrive first; the function is called again after it.
  using Next = std::function<const Request*()>;
  using Take = std::function<void(const Response&)>;

  BulkLoad(Next next, Take take)
      : next_(std::move(next)), take_(std::move(take)) {}

  // `open(&context, reactor)` is the stub's method.
  template <typename Open>
  void Begin(Open open) {
    open(&context_, this);
    // Keeps the call from ending between two operations.
    this->AddHold();
    this->StartRead(&response_);
    this->StartCall();
    Nudge();
  }
  // Call it when there may be a request to write.
  void Nudge() {
    const absl::MutexLock lock(&mutex_);
    WriteOn();
  }
  // Waits until `condition` holds. Checks it after each response. Fails if it
  // does not hold within a minute.
  void WaitUntil(const std::function<bool()>& condition) {
    const absl::MutexLock lock(&mutex_);
    const auto holds = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ended_ || condition();
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&holds), absl::Minutes(1)) ||
        !condition()) {
      Fail("a stream brought not all: " + status_.error_message());
    }
  }
  // Ends the writes. Fails if the stream ends with an error.
  void Finish() {
    this->StartWritesDone();
    this->RemoveHold();
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&ended_));
    if (!status_.ok()) Fail("a stream failed: " + status_.error_message());
  }

 private:
  void WriteOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_) return;
    const Request* const request = next_();
    if (request == nullptr) return;
    writing_ = true;
    this->StartWrite(request);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const absl::MutexLock lock(&mutex_);
    take_(response_);
    this->StartRead(&response_);
    WriteOn();
  }
  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) WriteOn();
  }
  void OnDone(const grpc::Status& status) override {
    const absl::MutexLock lock(&mutex_);
    status_ = status;
    ended_ = true;
  }

  const Next next_;
  const Take take_;
  grpc::ClientContext context_;
  Response response_;
  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::bench
