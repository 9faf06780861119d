// The WatchProcesses call: a snapshot page by page, then events.
//
//   begins   the token, if no snapshot begins
//   missed   that there is a gap; then the snapshot, or, if that is not wanted,
//            events
//   walks    the next page. Before each but the first it reads the events up to
//            now, so that the log need not hold all of a walk; behind the last
//   reads    events. When they are lost, also in a walk: missed
//
// Events between pages do not change the proof in lifecycle_log.h: each page is
// read after all events up to the current cursor have been sent. If the end of
// a process was sent before a page, the process was invisible before that page,
// which does not show it. If a page shows a process, its end has not been sent
// yet.
//
// Bounds: the stream makes a page or a batch of events when the last one has
// been written. So for a client that does not read, the stream holds one
// response. The events that the client has not read are in the log that all
// watches share, or are lost, and the client learns how many.
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

// The log keeps the stream too while it is open.
class WatchStream final : public WriteStream,
                          public runtime::LifecycleListener {
 public:
  // Both are borrowed and must outlive the server.
  WatchStream(runtime::Runtime& runtime, OpenStreams& streams)
      : WriteStream(streams),
        runtime_(runtime),
        log_(runtime.lifecycle_log()) {}

  // To be called once, before the stream begins. After an error the stream is
  // not open and must not begin.
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

  // Each sets the content of the next response aside; false: there is none.
  bool TakeUpdate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a walk has to send events before its next page. It counts the
  // events up to the end that the log had at the first question for this page,
  // because the walk has to go on whatever happens meanwhile.
  bool IsBehind() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakePage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells the client that `count` events are missing, 0: an unknown number. The
  // stream goes on at `cursor`.
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
  // The content that was set aside.
  v1::WatchProcessesResponse outgoing_;
};

}  // namespace actord::daemon
