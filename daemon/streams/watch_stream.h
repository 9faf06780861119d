// The WatchProcesses call: a snapshot page by page, then events.
//
//   begins   the token, if no snapshot begins
//   missed   that there is a gap; then the snapshot, or, if that is not wanted,
//            events
//   walks    the next page. Before each but the first it reads the events up to
//            now, so that the log need not hold all of a walk; behind the last
//   reads    events. When they are lost, also in a walk: missed
//
// Events between pages change nothing about the proof in lifecycle_log.h: each
// page is a look behind the place in the log up to which was told. An end that
// was told before a page is of a process that was invisible before it, so the
// page does not show it; and the end of one that it shows is still to come.
//
// Bounds: a page or a batch is made when the one before has been written. So a
// client that does not read holds back one response, and what it has not read
// is in the log that all watches share, or is lost, which it is told.
//
// Order of locks: the stream's before the log's. The log calls Wake without its
// own.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "actord/v1/watch.pb.h"
#include "daemon/streams/stream.h"
#include "daemon/wire/proto_watch.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// Is kept by the log too while it is open.
class WatchStream final : public WriteStream,
                          public runtime::LifecycleListener {
 public:
  // Both are borrowed and must outlive the server.
  WatchStream(runtime::Runtime& runtime, OpenStreams& streams)
      : WriteStream(streams),
        runtime_(runtime),
        log_(runtime.lifecycle_log()) {}

  // Before it begins, once. Not of one that has been ended. An error: it is not
  // open, and is to be ended.
  absl::Status Open(WatchOrder order);

  // LifecycleListener.
  void Wake() override;

 private:
  static constexpr size_t kPageProcesses = 1000;
  // On the wire; one process at least.
  static constexpr size_t kPageBytes = size_t{256} << 10;

  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Each sets aside what the next response says; false: nothing.
  bool TakeUpdate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // In a walk: whether there are events to be told before the next page. Those
  // up to the end that the log had when that was first asked, for a walk has to
  // go on whatever happens meanwhile.
  bool IsBehind() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakePage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // So many events, 0 if it is not known, are not told. It goes on at `cursor`.
  void TakeMissed(uint64_t count, uint64_t cursor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Runtime& runtime_;
  runtime::LifecycleLog& log_;

  runtime::LifecycleLog::ReaderId reader_ ABSL_GUARDED_BY(mutex_) = 0;
  WatchOrder order_ ABSL_GUARDED_BY(mutex_);
  WatchPlace place_ ABSL_GUARDED_BY(mutex_);
  // See IsBehind; nullopt: it has not been asked for this page.
  std::optional<uint64_t> caught_up_to_ ABSL_GUARDED_BY(mutex_);
  uint64_t told_cursor_ ABSL_GUARDED_BY(mutex_) = 0;  // by the last token
  bool greets_ ABSL_GUARDED_BY(mutex_) = false;
  bool missed_other_run_ ABSL_GUARDED_BY(mutex_) = false;
  // Set aside to be written.
  v1::WatchProcessesResponse outgoing_;
};

}  // namespace actord::daemon
