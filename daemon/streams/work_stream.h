// The Work call: each stream serves one remote worker. The runtime decides
// about leases, credits and retries; this class carries them over the wire.
//
// Bounds: the stream reads the next message when the answers to the last
// message are being written. It takes tasks from the runtime only to write them
// at once. So a worker that does not read delays only itself.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "actord/v1/work.pb.h"
#include "daemon/operations/carry_out.h"
#include "daemon/streams/stream.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// While the worker is open, the runtime keeps the stream alive too.
//
// Order of locks: the stream's lock before the runtime's locks. The runtime
// holds no lock when it calls Wake.
class WorkStream final : public BidiStream, public runtime::TaskListener {
 public:
  // Borrows its arguments, which must outlive the server.
  WorkStream(runtime::Runtime& runtime, OpenStreams& streams, Access access)
      : BidiStream(streams, std::move(access)), runtime_(runtime) {}

  // TaskListener.
  void Wake() override;

 private:
  void OnMessage(const grpc::ByteBuffer& bytes) override;
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  // Moves the next output into outgoing_. False: there is none.
  bool FillOutput() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OutputIsDurable();
  // Ends the stream at once. A worker keeps no task when it half-closes the
  // call, or when the daemon closes the stream.
  void OnClosing(const absl::Status& status) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status Handle(const Access& access, v1::WorkRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Subscribe(const Access& access, const v1::Subscribe& subscribe)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The answer for a failure or a heartbeat: the reason why it could not be
  // read or may not be carried out, or the return value of `carry_out`.
  template <typename Read, typename CarryOut>
  absl::StatusOr<runtime::CompleteAnswer> AnswerUnlessRefused(
      const Access& access, const Read& read, CarryOut carry_out) {
    if (!read.ok()) return read.status();
    if (auto refused = CheckYield(runtime_, access, read->token.yield)) {
      return *std::move(refused);
    }
    return AnswerOrError(runtime_, read->token.yield, carry_out());
  }
  // Returns the answer, to be completed.
  v1::TaskAnswer& Answer(v1::TaskAnswer::Kind kind, const std::string& token,
                         const absl::StatusOr<runtime::CompleteAnswer>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  runtime::Runtime& runtime_;

  runtime::RemoteWorkerId worker_ ABSL_GUARDED_BY(mutex_) = 0;
  // The next output, without tasks and cancels.
  v1::WorkResponse out_ ABSL_GUARDED_BY(mutex_);
  bool out_empty_ ABSL_GUARDED_BY(mutex_) = true;
  // Whether outgoing_ has content that waits for the disk of the store.
  enum class Writing : uint8_t { kIsFree, kWaitsForDisk, kIsDurable };
  Writing writing_ ABSL_GUARDED_BY(mutex_) = Writing::kIsFree;
  // The content that was set aside.
  v1::WorkResponse outgoing_;
};

}  // namespace actord::daemon
