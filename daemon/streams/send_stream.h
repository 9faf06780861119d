// The SendStream call: batches of sends, acknowledged together.
//
// Bounds: the stream reads the next batch when the acknowledgement of the last
// batch is being written. So a client that does not read delays only itself,
// and a stream holds at most one batch and the refusals of two batches.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "actord/v1/stream.pb.h"
#include "daemon/streams/stream.h"
#include "runtime/actors/request_ids.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class SendStream final : public BidiStream {
 public:
  // Borrows its arguments, which must outlive the server.
  SendStream(runtime::Runtime& runtime, runtime::RequestIds& message_ids,
             OpenStreams& streams, Access access)
      : BidiStream(streams, std::move(access)),
        runtime_(runtime),
        message_ids_(message_ids) {}

 private:
  // The content of an acknowledgement: the number of items that have been
  // answered, and the refused and duplicate items of the batch.
  struct Ack {
    struct Refused {
      uint64_t index = 0;
      absl::Status status;
    };
    uint64_t count = 0;
    std::vector<Refused> refused;
    std::vector<uint64_t> duplicates;
  };

  void OnMessage(const grpc::ByteBuffer& bytes) override;
  [[nodiscard]] bool IsPaced() const override { return true; }
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;

  // Carries out the batch from `first_` to `next_`.
  void CarryOut();
  void Answered(uint64_t index, const absl::Status& status, bool duplicate);
  // Subtracts one from `open_`, and acknowledges the batch when `open_` is 0.
  void CloseOne();

  runtime::Runtime& runtime_;
  runtime::RequestIds& message_ids_;

  // The number of items of the current batch that are not answered yet, plus
  // one while CarryOut runs. An item whose message_id is in flight elsewhere is
  // answered later, on another thread.
  std::atomic<size_t> open_{0};
  // The members down to `next_` belong to the thread that handles the batch.
  //
  // Keeps this stream alive while `open_` is not 0.
  std::shared_ptr<Stream> self_;
  ReusedMessage<v1::SendStreamRequest> request_;
  runtime::Message message_;
  size_t batch_bytes_ = 0;
  uint64_t first_ = 0;  // index of the first item of the batch
  uint64_t next_ = 0;   // index of the first item of the next batch

  Ack ack_ ABSL_GUARDED_BY(mutex_);
  bool has_ack_ ABSL_GUARDED_BY(mutex_) = false;
  // These belong to the thread that writes.
  Ack outgoing_;
  v1::SendStreamResponse response_;
};

}  // namespace actord::daemon
