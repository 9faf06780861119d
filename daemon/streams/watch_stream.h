// The WatchProcesses call: a snapshot page by page, then events.
//
// A stream is in one of these states, which decides its next response:
//   begins   Only a resume token. Skipped if the stream starts with missed or
//            walks.
//   missed   The number of missed events. Next state: walks, or reads if the
//            client skips the snapshot.
//   walks    The next page of the snapshot. Before each page except the first,
//            the stream sends the events up to now, so that the log need not
//            hold the events of a whole walk. After the last page: reads.
//   reads    Events. If events were lost, here or in a walk: missed.
//
// Events between pages do not change the proof in lifecycle_log.h: each page is
// read after all events up to the current cursor have been sent. If the end of
// a process was sent before a page, the process was invisible before that page,
// and the page does not show it. If a page shows a process, the end of that
// process has not been sent yet.
//
// Bounds: the stream makes a response when the last response has been written.
// So for a client that does not read, the stream holds one response. The events
// that the client has not read are in the log that all watches share, or are
// lost, and the client learns how many.
//
// Order of locks: the stream's lock before the log's lock. The log does not
// hold its lock when it calls Wake.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "actord/v1/watch.pb.h"
#include "daemon/streams/stream.h"
#include "daemon/wire/proto_watch.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// While the stream is open, the log keeps it alive too.
class WatchStream final : public WriteStream,
                          public runtime::LifecycleListener {
 public:
  // Borrows its arguments, which must outlive the server.
  WatchStream(runtime::Runtime& runtime, OpenStreams& streams,
              const Access& access)
      : WriteStream(streams, access),
        runtime_(runtime),
        log_(runtime.lifecycle_log()),
        owner_labels_(access.owner_labels()) {}

  // To be called once, before the stream begins. After an error the stream is
  // not open and must not begin.
  // `named_parent`: the PID of a parent that the client has named; "": it has
  // named none.
  absl::Status Open(WatchOrder order, std::string named_parent);

  // LifecycleListener.
  void Wake() override;

 private:
  static constexpr size_t kPageProcesses = 1000;
  // The size of a page on the wire. A page contains at least one process.
  static constexpr size_t kPageBytes = size_t{256} << 10;

  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The Take functions set the content of the next response aside; false: there
  // is no output.
  bool TakeUpdate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if the walk has to send events before its next page. The
  // events up to the end that the log had at the first IsBehind for this page
  // count. Later events do not, because they could delay the page for ever.
  bool IsBehind() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakePage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells the client that `count` events are missing; 0: their number is
  // unknown. The stream continues at `cursor`.
  void TakeMissed(uint64_t count, uint64_t cursor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Runtime& runtime_;
  runtime::LifecycleLog& log_;
  // The labels at the beginning of the stream: if the token later sees other
  // owners, the stream ends.
  const OwnerLabels owner_labels_;

  runtime::LifecycleLog::ReaderId reader_ ABSL_GUARDED_BY(mutex_) = 0;
  WatchOrder order_ ABSL_GUARDED_BY(mutex_);
  WatchPlace place_ ABSL_GUARDED_BY(mutex_);
  // For the first response.
  std::string named_parent_ ABSL_GUARDED_BY(mutex_);
  // The end of the events that count (IsBehind); nullopt: IsBehind has not been
  // called for this page.
  std::optional<uint64_t> caught_up_to_ ABSL_GUARDED_BY(mutex_);
  uint64_t told_cursor_ ABSL_GUARDED_BY(mutex_) = 0;  // in the last token
  bool greets_ ABSL_GUARDED_BY(mutex_) = false;
  bool missed_other_run_ ABSL_GUARDED_BY(mutex_) = false;
  // The content that was set aside.
  v1::WatchProcessesResponse outgoing_;
};

}  // namespace actord::daemon
