// Reads of the state store by other threads than its writer. The writer carries
// them out between two of its batches, so each read sees one moment.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/store/state_store.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class StateReads {
 public:
  // `applied`: the state store stands for the records before this position.
  using Use =
      absl::FunctionRef<absl::Status(StateStore& state, uint64_t applied)>;

  // `ask`: called without a lock when a read waits for the writer.
  explicit StateReads(std::function<void()> ask) : ask_(std::move(ask)) {}

  // Waits until the writer has called `use`, and returns its status.
  // UNAVAILABLE: the store is closed.
  absl::Status Read(Use use);
  // For the writer, which has committed all that it has applied.
  void Serve(StateStore& state, uint64_t applied);
  // Answers all reads, now and later, with UNAVAILABLE.
  void Stop();

 private:
  struct Request {
    Use use;
    absl::Status status = {};
    bool done = false;
  };

  const std::function<void()> ask_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Request*> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::runtime
