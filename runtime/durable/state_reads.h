// Reads of the state store by other threads than its writer.
//
//   Read       waits. The writer carries it out between two of its batches, so
//              it sees a consistent state.
//   ReadLater  does not wait. A thread of its own carries these reads out, in
//              their order, beside the writer. So neither a slow callback nor
//              a flood of reads, for example of PIDs that never were, holds up
//              the writer. The writer is asked only if it is not yet as far as
//              the read needs it.
//
// Both name a position of the journal and see the effect of all records before
// it. With the durable end of the journal as the position, a read sees whatever
// its reader has seen before.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <deque>
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

  // Called without a lock when a read waits for the writer: `now` for Read,
  // `soon` for ReadLater.
  struct Ask {
    std::function<void()> now;
    std::function<void()> soon;
  };
  explicit StateReads(Ask ask) : ask_(std::move(ask)) {}

  // Called once. It may be slow: only other reads of ReadLater wait for it.
  // Null: the store is closed.
  using Later = absl::AnyInvocable<void(StateStore* state) &&>;

  // Starts the thread of ReadLater. `state` outlives Stop.
  void Start(StateStore& state);
  // Waits until the writer has called `use`, after all records before this
  // position were applied, and returns its status. UNAVAILABLE: the store is
  // closed.
  absl::Status Read(uint64_t position, Use use);
  // Does not wait. `use` is called when all records before this position were
  // applied. If the store is closed, `use` is called on this thread.
  void ReadLater(uint64_t position, Later use);
  // For the writer, when it has committed everything that it has applied.
  // `caught_up`: all records before this position were applied.
  void Serve(StateStore& state, uint64_t applied, uint64_t caught_up);
  // Answers all reads, now and later, with UNAVAILABLE, and ends the thread.
  // Idempotent; one thread at a time.
  void Stop();

 private:
  struct Request {
    uint64_t position;
    Use use;
    absl::Status status = {};
    bool done = false;
  };
  struct Waiting {
    uint64_t position = 0;
    Later use;
  };

  void RunLater(StateStore& state);
  void StopWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Ask ask_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Request*> waiting_ ABSL_GUARDED_BY(mutex_);
  ConditionVariable later_changed_;
  std::deque<Waiting> later_ ABSL_GUARDED_BY(mutex_);
  uint64_t caught_up_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_;
};

}  // namespace actord::runtime
