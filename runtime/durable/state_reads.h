// Reads of the state store by other threads than its writer. The writer carries
// them out between two of its batches, so each read sees a consistent state.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/store/state_store.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class StateReads {
 public:
  // `applied`: the state store has the effect of the records before this
  // position.
  using Use =
      absl::FunctionRef<absl::Status(StateStore& state, uint64_t applied)>;

  // `ask`: called without a lock when a read waits for the writer.
  explicit StateReads(std::function<void()> ask) : ask_(std::move(ask)) {}

  // Called once, on the thread of the writer; must not block. Null: the store
  // is closed.
  using Later = absl::AnyInvocable<void(StateStore* state) &&>;

  // Waits until the writer has called `use`, and returns its status.
  // UNAVAILABLE: the store is closed.
  absl::Status Read(Use use);
  // Does not wait. If the store is closed, `use` is called on this thread.
  void ReadLater(Later use);
  // For the writer, when it has committed everything that it has applied.
  void Serve(StateStore& state, uint64_t applied);
  // Answers all reads, now and later, with UNAVAILABLE.
  void Stop();

 private:
  struct Request {
    Use use;
    absl::Status status = {};
    bool done = false;
  };

  void StopWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<void()> ask_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Request*> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<Later> later_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::runtime
