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

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "actord/v1/work.pb.h"
#include "daemon/streams/stream.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// Is kept by the runtime too while the worker is open.
//
// Order of locks: the stream's before the runtime's. The runtime calls Wake
// without its own.
class WorkStream final : public BidiStream, public runtime::TaskListener {
 public:
  // Both are borrowed and must outlive the server.
  WorkStream(runtime::Runtime& runtime, OpenStreams& streams)
      : BidiStream(streams), runtime_(runtime) {}

  // TaskListener.
  void Wake() override;

 private:
  void OnMessage(const grpc::ByteBuffer& bytes) override;
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  // A worker that has said all, or is to be parted with, holds nothing longer.
  void OnClosing(const absl::Status& status) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status Handle(v1::WorkRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Subscribe(const v1::Subscribe& subscribe)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(v1::TaskAnswer::Kind kind, const std::string& token,
              const absl::StatusOr<runtime::CompleteAnswer>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Runtime& runtime_;

  runtime::RemoteWorkerId worker_ ABSL_GUARDED_BY(mutex_) = 0;
  // What is to be written beside tasks and cancels.
  v1::WorkResponse out_ ABSL_GUARDED_BY(mutex_);
  bool out_empty_ ABSL_GUARDED_BY(mutex_) = true;
  // Set aside to be written.
  v1::WorkResponse outgoing_;
};

}  // namespace actord::daemon
