#include "daemon/streams/send_stream.h"

#include <utility>

#include "daemon/operations/carry_out.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"
#include "runtime/bulk_sender.h"

namespace actord::daemon {

void SendStream::OnMessage(const grpc::ByteBuffer& bytes) {
  v1::SendStreamRequest& request = request_.get();
  const int items = CountField(bytes, v1::SendStreamRequest::kSendsFieldNumber);
  Charge(items, bytes.Length());
  absl::Status status = CheckBatch("sends", items);
  if (status.ok()) status = ReadMessage(bytes, &request);
  if (!status.ok()) {
    // The stream stays open until its remaining output is written.
    request_.Drop();
    Handled(status);
    return;
  }
  batch_bytes_ = bytes.Length();
  first_ = next_;
  const auto count = static_cast<size_t>(request.sends_size());
  next_ = first_ + count;
  self_ = shared_from_this();
  open_.store(count + 1, std::memory_order_relaxed);
  CarryOut();
  CloseOne();
}

void SendStream::CarryOut() {
  const Access access = this->access();
  runtime::BulkSender sender(runtime_);
  for (uint64_t index = first_; index < next_; ++index) {
    CarryOutSend(
        runtime_, access, sender, message_ids_,
        request_.get().mutable_sends(static_cast<int>(index - first_)),
        message_,
        [this, index](const absl::Status& sent, bool duplicate,
                      bool /*logged*/) { Answered(index, sent, duplicate); });
  }
}

void SendStream::Answered(uint64_t index, const absl::Status& status,
                          bool duplicate) {
  if (!status.ok()) {
    const absl::MutexLock lock(&mutex_);
    ack_.refused.push_back({index, status});
  } else if (duplicate) {
    const absl::MutexLock lock(&mutex_);
    ack_.duplicates.push_back(index);
  }
  CloseOne();
}

void SendStream::CloseOne() {
  // Release: publishes the answer of this item. Acquire: the thread that
  // answers the last item sees the answers of all items.
  if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::shared_ptr<Stream> self = std::move(self_);
  request_.Used(batch_bytes_);
  {
    const absl::MutexLock lock(&mutex_);
    ack_.count = next_;
    has_ack_ = true;
  }
  Handled(absl::OkStatus());
}

bool SendStream::WantsMessage() { return !has_ack_; }

bool SendStream::TakeOutput() {
  if (!has_ack_) return false;
  has_ack_ = false;
  outgoing_.refused.clear();
  outgoing_.duplicates.clear();
  std::swap(outgoing_, ack_);
  return true;
}

absl::Status SendStream::WriteOutput(grpc::ByteBuffer* bytes) {
  response_.Clear();
  response_.set_acked_count(outgoing_.count);
  for (const Ack::Refused& refused : outgoing_.refused) {
    v1::SendRefusal& proto = *response_.add_refusals();
    proto.set_index(refused.index);
    WriteRefusal(refused.status, proto.mutable_refusal());
  }
  response_.mutable_duplicates()->Add(outgoing_.duplicates.begin(),
                                      outgoing_.duplicates.end());
  return WriteMessage(response_, bytes);
}

}  // namespace actord::daemon
