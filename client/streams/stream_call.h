// The common part of SendStream and SubmitStream: batches of items, a bound on
// items that are not done, the end of the call. Not for users of the library.
//
// Items that are added while a batch is being written go into the next batch.
// So batches grow as the connection needs them, and no item is delayed.
//
// Thread-safety: every function except the destructor may be called from any
// thread. Ownership: owns the call.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/calls/batch.h"
#include "client/calls/connection.h"
#include "client/calls/endpoint.h"
#include "client/calls/error.h"
#include "client/calls/mutex.h"

namespace actord::client {

template <typename Request, typename Response>
class StreamCall final : private grpc::ClientBidiReactor<Request, Response> {
 public:
  // The progress that the responses have reported so far.
  struct Progress {
    // Number of items that are done.
    uint64_t through = 0;
    // Index of the first item that is not done.
    uint64_t first_waiting = 0;
  };
  // Called on gRPC's threads, once at a time.
  using OnResponse = std::function<Progress(const Response&)>;

  // At most `window` items are not done; 0 is taken as 1.
  StreamCall(size_t window, OnResponse on_response)
      : window_(std::max<size_t>(window, 1)),
        on_response_(std::move(on_response)) {}
  // Cancels the call if it has not ended, and waits for its end.
  ~StreamCall() {
    context_.TryCancel();
    WaitForEnd();
  }
  StreamCall(const StreamCall&) = delete;
  StreamCall& operator=(const StreamCall&) = delete;

  // `open(&context, reactor)` is the stub's method. Call Start once, before all
  // other functions. The call is not made if CheckEndpoint returns an error.
  template <typename Open>
  void Start(const Endpoint& endpoint, Open open) {
    const absl::Status usable = CheckEndpoint(endpoint);
    if (!usable.ok()) {
      const MutexLock lock(mutex_);
      status_ = usable;
      broken_ = let_go_ = ended_ = true;
      return;
    }
    AddToken(endpoint, context_);
    open(&context_,
         static_cast<grpc::ClientBidiReactor<Request, Response>*>(this));
    // A hold for the writes that Add starts.
    this->AddHold();
    this->StartRead(&response_);
    this->StartCall();
  }

  // Calls `fill(Request&)`, which adds one item of about `bytes` bytes. Waits
  // while the window is full. Returns the item's index. Error: the call has
  // ended or was finished, and the item was not added.
  template <typename Fill>
  absl::StatusOr<uint64_t> Add(size_t bytes, Fill fill) {
    const MutexLock lock(mutex_);
    while (!IsOver() &&
           (added_ - progress_.through >= window_ ||
            batch_items_ >= kMaxBatchItems ||
            (batch_items_ != 0 && batch_bytes_ + bytes > kMaxBatchBytes))) {
      changed_.wait(mutex_);
    }
    // The status of the call follows in a moment.
    while (broken_ && !ended_) changed_.wait(mutex_);
    if (IsOver()) return WhyOver();
    fill(batch_);
    ++batch_items_;
    batch_bytes_ += bytes;
    const uint64_t index = added_++;
    WriteOn();
    return index;
  }

  // Waits until every item that was added before is done. Returns the call's
  // error if it ended earlier.
  absl::Status Flush() {
    const MutexLock lock(mutex_);
    const uint64_t end = added_;
    while (!ended_ && progress_.first_waiting < end) changed_.wait(mutex_);
    if (progress_.first_waiting >= end) return absl::OkStatus();
    return WhyOver();
  }

  // Ends the adding and waits for the end of the call. OK: every item is done.
  absl::Status Finish() {
    {
      const MutexLock lock(mutex_);
      finishing_ = true;
      WriteOn();
      changed_.notify_all();
    }
    WaitForEnd();
    const MutexLock lock(mutex_);
    if (status_.ok() && progress_.through != added_) return WhyOver();
    return status_;
  }

  void Cancel() { context_.TryCancel(); }

  [[nodiscard]] uint64_t through() const {
    const MutexLock lock(mutex_);
    return progress_.through;
  }

 private:
  [[nodiscard]] bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return finishing_ || broken_ || ended_;
  }
  [[nodiscard]] absl::Status WhyOver() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!status_.ok()) return status_;
    if (ended_ && (!finishing_ || progress_.through != added_)) {
      return absl::UnavailableError(
          absl::StrCat("the daemon has ended the stream, and ",
                       added_ - progress_.through, " items were not answered"));
    }
    return absl::FailedPreconditionError("the stream has been finished");
  }

  void WriteOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || broken_ || writes_done_) return;
    if (batch_items_ == 0) {
      if (!finishing_) return;
      writes_done_ = true;
      this->StartWritesDone();
      LetGo();
      return;
    }
    writing_ = true;
    written_.Clear();
    written_.Swap(&batch_);
    batch_items_ = 0;
    batch_bytes_ = 0;
    this->StartWrite(&written_);
    changed_.notify_all();
  }
  // From now on only gRPC's callbacks start operations.
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(let_go_, true)) this->RemoveHold();
  }
  void WaitForEnd() {
    const MutexLock lock(mutex_);
    while (!ended_) changed_.wait(mutex_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      const MutexLock lock(mutex_);
      broken_ = true;
      LetGo();
      changed_.notify_all();
      return;
    }
    const Progress progress = on_response_(response_);
    {
      const MutexLock lock(mutex_);
      progress_ = progress;
      changed_.notify_all();
    }
    this->StartRead(&response_);
  }
  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    writing_ = false;
    // If the write failed the call is over, and OnReadDone handles it.
    if (ok) WriteOn();
  }
  void OnDone(const grpc::Status& status) override {
    const MutexLock lock(mutex_);
    status_ = FromGrpc(status);
    ended_ = true;
    changed_.notify_all();
  }

  const size_t window_;
  const OnResponse on_response_;
  grpc::ClientContext context_;
  // Used by gRPC, or by OnReadDone.
  Response response_;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  // The batch that will be written next.
  Request batch_ ABSL_GUARDED_BY(mutex_);
  int batch_items_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t batch_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Used by gRPC while writing_.
  Request written_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writes_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool let_go_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t added_ ABSL_GUARDED_BY(mutex_) = 0;
  Progress progress_ ABSL_GUARDED_BY(mutex_);
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  // No further response comes.
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  // Valid if ended_.
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::client
