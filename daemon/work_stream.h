// The Work call: one stream, one remote worker. Leases, credits and retries are
// the runtime's; here is only how they travel.
//
// Bounds: one message is read at a time, and the next only when the answers to
// the one before are on their way; one message is written at a time, and tasks
// are taken only to be written at once. So a worker that does not read holds
// back nothing but itself.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "actord/v1/work.pb.h"
#include "daemon/proto_requests.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class WorkStream;

// The streams that are open, so that they can be ended: a server that stops
// waits for every call.
class WorkStreams {
 public:
  // Ends all with `status`, and each later one as it comes.
  void EndAll(const absl::Status& status);

 private:
  friend class WorkStream;
  void Add(const std::shared_ptr<WorkStream>& stream);
  void Remove(WorkStream* stream);

  absl::Mutex mutex_;
  absl::flat_hash_map<WorkStream*, std::shared_ptr<WorkStream>> open_
      ABSL_GUARDED_BY(mutex_);
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);  // OK: not yet
};

// What became of it; MAILBOX_FULL: the process has no room, nothing happened.
absl::StatusOr<runtime::CompleteAnswer> CompleteTask(
    runtime::Runtime& runtime, const Completion& completion);

// Is kept by `streams` until OnDone, which gRPC calls when the call is finished
// and none of its functions is running or will be; and by the runtime while the
// worker is open.
//
// Order of locks: the stream's before the runtime's. The runtime calls Wake
// without its own.
class WorkStream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public runtime::WorkListener,
      public std::enable_shared_from_this<WorkStream> {
 public:
  // For gRPC. Both are borrowed and must outlive the server.
  static WorkStream* Begin(runtime::Runtime& runtime, WorkStreams& streams);

  WorkStream(runtime::Runtime& runtime, WorkStreams& streams)
      : runtime_(runtime), streams_(streams) {}

  // WorkListener.
  void Wake() override;

  // Finishes the call and gives back what the worker holds. Only the first
  // counts.
  void End(const absl::Status& status);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  absl::Status Handle(v1::WorkRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Subscribe(const v1::Subscribe& subscribe)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(v1::TaskAnswer::Kind kind, const std::string& token,
              const absl::StatusOr<runtime::CompleteAnswer>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes what there is, if nothing is being written.
  void WriteOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the next message, if the answers to the last one are written.
  void ReadOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Runtime& runtime_;
  WorkStreams& streams_;

  absl::Mutex mutex_;
  runtime::RemoteWorkerId worker_ ABSL_GUARDED_BY(mutex_) = 0;
  // What is to be written beside tasks and cancels.
  v1::WorkResponse out_ ABSL_GUARDED_BY(mutex_);
  bool out_empty_ ABSL_GUARDED_BY(mutex_) = true;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);  // to finish with, if ended_
  // gRPC's while a read or a write is under way.
  grpc::ByteBuffer in_bytes_;
  grpc::ByteBuffer out_bytes_;
};

}  // namespace actord::daemon
