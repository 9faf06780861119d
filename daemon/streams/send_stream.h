// The SendStream call: batches of sends, acknowledged in their order.
//
// A batch is
//   carried out   by the thread that has read it: each message is in its
//                 mailbox, or refused
//   waiting       until its records are durable, and until each item is
//                 answered whose message_id is in flight elsewhere. The next
//                 batches are read and carried out meanwhile
//   acknowledged  when neither it nor any batch before it waits any longer.
//                 One response acknowledges all of them
//
// Bounds: the stream reads the next batch while fewer than kMaxBatches batches
// are carried out and not being acknowledged, and they and their refusals take
// less than kMaxBytes. So a client that does not read delays only itself. A
// stream that sends to durable processes carries nothing out while the journal
// is behind.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "actord/v1/stream.pb.h"
#include "daemon/streams/held_receivers.h"
#include "daemon/streams/read_pause.h"
#include "daemon/streams/stream.h"
#include "runtime/actors/request_ids.h"
#include "runtime/bulk_sender.h"
#include "runtime/runtime.h"
#include "runtime/tracing/trace_context.h"

namespace actord::daemon {

class SendStream final : public BidiStream {
 public:
  // Maximum number of waiting batches, and maximum of their bytes as read, plus
  // the bytes of their refusals.
  static constexpr size_t kMaxBatches = 64;
  static constexpr size_t kMaxBytes = 1 << 20;

  // Borrows its arguments, which must outlive the server.
  SendStream(runtime::Runtime& runtime, runtime::RequestIds& message_ids,
             OpenStreams& streams, Access access,
             std::optional<runtime::TraceContext> trace)
      : BidiStream(streams, std::move(access)),
        runtime_(runtime),
        message_ids_(message_ids),
        trace_(std::move(trace)) {}

 private:
  struct Refused {
    uint64_t index = 0;
    absl::Status status;
  };
  // The kinds of receivers of the items that were not refused.
  struct Receivers {
    bool any_durable = false;
    bool any_volatile = false;
    // The client has set seen_count.
    bool keeps_order = false;
    // With keeps_order: the items with a volatile receiver.
    std::vector<uint64_t> volatile_items;

    void Add(uint64_t item, bool is_durable) {
      (is_durable ? any_durable : any_volatile) = true;
      if (keeps_order && !is_durable) volatile_items.push_back(item);
    }
    void Add(const Receivers& others) {
      any_durable |= others.any_durable;
      any_volatile |= others.any_volatile;
      keeps_order |= others.keeps_order;
      volatile_items.insert(volatile_items.end(), others.volatile_items.begin(),
                            others.volatile_items.end());
    }
  };
  struct Batch {
    uint64_t first = 0;  // index of the first item
    uint64_t next = 0;   // index of the first item of the next batch
    size_t bytes = 0;
    // Items that are not answered yet, plus one until it is carried out.
    size_t open = 1;
    // It waits for the record at this position; 0: for none.
    uint64_t position = 0;
    std::vector<Refused> refused;
    std::vector<uint64_t> duplicates;
    Receivers receivers;
  };
  // The content of an acknowledgement: the number of items that have been
  // answered, and the refused and duplicate items since the last one.
  struct Ack {
    uint64_t count = 0;
    std::vector<Refused> refused;
    std::vector<uint64_t> duplicates;
    Receivers receivers;
    // Number of acknowledged batches.
    size_t batches = 0;
    size_t bytes = 0;
  };

  void OnMessage(const grpc::ByteBuffer& bytes) override;
  [[nodiscard]] bool IsPaced() const override { return true; }
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ExpectsOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !batches_.empty();
  }
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;

  // Reads the batch, carries it out and calls Handled; later, if the journal is
  // behind.
  void Handle(const grpc::ByteBuffer& bytes);
  // False: the journal is behind, and Handle will be called again.
  bool MayBegin(const grpc::ByteBuffer& bytes);
  // Carries out the batch that was read.
  void CarryOut(Batch& batch);
  // Carries out an item with a message_id, or to a group. Returns the refusal
  // if it is known already.
  absl::Status CarryOutOnce(Batch& batch, uint64_t index, const Access& access,
                            runtime::BulkSender& sender);
  // The end of an item with a message_id. Any thread.
  void Answered(Batch& batch, uint64_t index, const absl::Status& status,
                bool duplicate, bool logged);
  void Refuse(Batch& batch, uint64_t index, const absl::Status& status);
  // To be called when the batch is carried out, and waits for `position`.
  // `receivers`: the receivers of the items without a message_id.
  void CarriedOut(Batch& batch, uint64_t position, const Receivers& receivers);
  // Moves the batches that no longer wait into the next acknowledgement.
  void Acknowledge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To be called when a record that a batch waits for is durable.
  void Durable();

  runtime::Runtime& runtime_;
  runtime::RequestIds& message_ids_;
  // Of the call: that of items without a trace of their own.
  const std::optional<runtime::TraceContext> trace_;

  // These belong to the thread that handles a message.
  ReusedMessage<v1::SendStreamRequest> request_;
  runtime::Message message_;
  uint64_t next_ = 0;  // index of the first item of the next batch
  HeldReceivers held_;
  // The stream has sent to a durable process. Relaxed: a thread that does not
  // see it yet is refused with JOURNAL_BEHIND instead of waiting.
  std::atomic<bool> is_durable_{false};
  ReadPause journal_pause_;

  // The batches that are not in an acknowledgement yet. Places do not move.
  std::deque<Batch> batches_ ABSL_GUARDED_BY(mutex_);
  // Number of batches in `batches_` and in `ack_`.
  size_t waiting_batches_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Items with a message_id that are not answered yet, and this stream while
  // there are any.
  size_t open_ids_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Stream> self_ ABSL_GUARDED_BY(mutex_);
  Ack ack_ ABSL_GUARDED_BY(mutex_);
  // These belong to the thread that writes.
  Ack outgoing_;
  v1::SendStreamResponse response_;
};

}  // namespace actord::daemon
