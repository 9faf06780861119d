#include "daemon/streams/send_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "daemon/operations/carry_out.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"
#include "runtime/table/home_pid.h"

namespace actord::daemon {
namespace {

// Pause between two checks of a journal that is behind. At 100 MB/s the disk
// writes 500 KiB during the pause.
constexpr absl::Duration kJournalLook = absl::Milliseconds(5);
// Size of a refusal besides its message.
constexpr size_t kRefusalBytes = 128;

}  // namespace

// Reading.

bool SendStream::WantsMessage() {
  return waiting_batches_ < kMaxBatches && waiting_bytes_ < kMaxBytes;
}

void SendStream::OnMessage(const grpc::ByteBuffer& bytes) {
  const int items = CountField(bytes, v1::SendStreamRequest::kSendsFieldNumber);
  Charge(items, bytes.Length());
  const absl::Status status = CheckBatch("sends", items);
  if (!status.ok()) return Handled(status);
  Handle(bytes);
}

void SendStream::Handle(const grpc::ByteBuffer& bytes) {
  if (!MayBegin(bytes)) return;
  v1::SendStreamRequest& request = request_.get();
  const absl::Status status = ReadMessage(bytes, &request);
  if (!status.ok()) {
    // The stream stays open until its remaining output is written.
    request_.Drop();
    return Handled(status);
  }
  const uint64_t first = next_;
  next_ += static_cast<uint64_t>(request.sends_size());
  Batch* batch = nullptr;
  {
    const absl::MutexLock lock(&mutex_);
    batch = &batches_.emplace_back();
    batch->first = first;
    batch->next = next_;
    batch->bytes = bytes.Length();
    batch->receivers.keeps_order = request.has_seen_count();
    ++waiting_batches_;
    waiting_bytes_ += batch->bytes;
  }
  CarryOut(*batch);
  request_.Used(bytes.Length());
  Handled(held_.Check());
}

bool SendStream::MayBegin(const grpc::ByteBuffer& bytes) {
  if (!is_durable_.load(std::memory_order_relaxed)) return true;
  // Begin returns before the pause is over, because of the lock.
  const absl::MutexLock lock(&mutex_);
  // A stream that has ended waits for nothing.
  if (ended() || !runtime_.IsJournalBehind()) return true;
  journal_pause_.Begin(kJournalLook, [this, &bytes, self = shared_from_this()] {
    Handle(bytes);
  });
  return false;
}

void SendStream::CarryOut(Batch& batch) {
  const Access access = this->access();
  const CallTrace trace(trace_);
  // A stream that is known to send to durable processes has waited.
  runtime::BulkSender sender(runtime_,
                             is_durable_.load(std::memory_order_relaxed)
                                 ? runtime::WhenBehind::kSend
                                 : runtime::WhenBehind::kRefuse);
  const uint64_t first = batch.first;
  v1::SendStreamRequest& request = request_.get();
  Receivers receivers;
  receivers.keeps_order = request.has_seen_count();
  if (receivers.keeps_order) held_.Seen(request.seen_count());
  const auto hold = [&](uint64_t index, const absl::Status& why) {
    if (!receivers.keeps_order) return;
    held_.Refused(request.sends(static_cast<int>(index - first)).pid(), index,
                  why);
  };
  const auto refuse = [&](uint64_t index, const absl::Status& why) {
    Refuse(batch, index, why);
    hold(index, why);
  };
  for (uint64_t index = first; index < next_; ++index) {
    v1::SendRequest* const item =
        request.mutable_sends(static_cast<int>(index - first));
    const bool is_alone = !item->message_id().empty() || IsGroup(item->pid());
    // The messages before it come first, and their refusals hold it.
    if (is_alone) sender.Flush(refuse);
    if (receivers.keeps_order) {
      if (const absl::Status* const why = held_.Find(item->pid())) {
        refuse(index, *why);
        continue;
      }
    }
    if (is_alone) {
      hold(index, CarryOutOnce(batch, index, access, sender));
      continue;
    }
    const RequestTrace own(*item);
    const absl::StatusOr<runtime::Pid> to =
        ReadMessageTo(runtime_, access, item, message_);
    const absl::Status status =
        to.ok() ? sender.Add(*to, message_, access.sees(), index, refuse)
                : to.status();
    if (status.ok()) {
      receivers.Add(index, runtime::IsHomePid(*to));
    } else {
      refuse(index, status);
    }
  }
  sender.Flush(refuse);
  if (sender.position() != 0) {
    is_durable_.store(true, std::memory_order_relaxed);
  }
  CarriedOut(batch, sender.position(), receivers);
}

absl::Status SendStream::CarryOutOnce(Batch& batch, uint64_t index,
                                      const Access& access,
                                      runtime::BulkSender& sender) {
  {
    const absl::MutexLock lock(&mutex_);
    ++batch.open;
    if (open_ids_++ == 0) self_ = shared_from_this();
  }
  return CarryOutSend(
      runtime_, access, sender, message_ids_,
      request_.get().mutable_sends(static_cast<int>(index - batch.first)),
      message_,
      [this, &batch, index](const absl::Status& status,
                            const SendResult& sent) {
        if (sent.is_logged) is_durable_.store(true, std::memory_order_relaxed);
        Answered(batch, index, status, sent.is_duplicate, sent.is_logged);
      });
}

void SendStream::Answered(Batch& batch, uint64_t index,
                          const absl::Status& status, bool duplicate,
                          bool logged) {
  // In the meantime another thread may answer the last item, and drop `self_`.
  const std::shared_ptr<Stream> stays = shared_from_this();
  std::shared_ptr<Stream> self;  // destroyed after the lock is released
  if (!status.ok()) Refuse(batch, index, status);
  {
    const absl::MutexLock lock(&mutex_);
    if (status.ok()) batch.receivers.Add(index, logged);
    if (status.ok() && duplicate) batch.duplicates.push_back(index);
    --batch.open;
    Acknowledge();
    if (--open_ids_ == 0) self = std::move(self_);
  }
  Continue();
}

void SendStream::Refuse(Batch& batch, uint64_t index,
                        const absl::Status& status) {
  const size_t bytes = kRefusalBytes + status.message().size();
  const absl::MutexLock lock(&mutex_);
  batch.refused.push_back({index, status});
  batch.bytes += bytes;
  waiting_bytes_ += bytes;
}

// Acknowledging.

void SendStream::CarriedOut(Batch& batch, uint64_t position,
                            const Receivers& receivers) {
  {
    const absl::MutexLock lock(&mutex_);
    batch.position = position;
    batch.receivers.Add(receivers);
    --batch.open;
    if (runtime_.IsDurable(position)) {
      // The message is handled next, and that writes the acknowledgement.
      Acknowledge();
      return;
    }
  }
  runtime_.WhenDurable(position,
                       [self = std::static_pointer_cast<SendStream>(
                            shared_from_this())] { self->Durable(); });
}

void SendStream::Acknowledge() {
  while (!batches_.empty()) {
    Batch& batch = batches_.front();
    if (batch.open != 0 || !runtime_.IsDurable(batch.position)) return;
    ack_.count = batch.next;
    ack_.batches += 1;
    ack_.bytes += batch.bytes;
    ack_.receivers.Add(batch.receivers);
    std::move(batch.refused.begin(), batch.refused.end(),
              std::back_inserter(ack_.refused));
    ack_.duplicates.insert(ack_.duplicates.end(), batch.duplicates.begin(),
                           batch.duplicates.end());
    batches_.pop_front();
  }
}

void SendStream::Durable() {
  {
    const absl::MutexLock lock(&mutex_);
    Acknowledge();
  }
  Continue();
}

// Writing.

bool SendStream::TakeOutput() {
  if (ack_.batches == 0) return false;
  outgoing_ = std::exchange(ack_, {});
  waiting_batches_ -= outgoing_.batches;
  waiting_bytes_ -= outgoing_.bytes;
  return true;
}

absl::Status SendStream::WriteOutput(grpc::ByteBuffer* bytes) {
  response_.Clear();
  response_.set_acked_count(outgoing_.count);
  for (const Refused& refused : outgoing_.refused) {
    v1::SendRefusal& proto = *response_.add_refusals();
    proto.set_index(refused.index);
    WriteRefusal(refused.status, proto.mutable_refusal());
  }
  response_.mutable_duplicates()->Add(outgoing_.duplicates.begin(),
                                      outgoing_.duplicates.end());
  const Receivers& receivers = outgoing_.receivers;
  if (receivers.any_durable || receivers.any_volatile) {
    response_.set_receipt(ReceiptOf(!receivers.any_volatile));
  }
  response_.set_keeps_order(receivers.keeps_order);
  if (receivers.any_durable) {
    response_.mutable_volatile_items()->Add(receivers.volatile_items.begin(),
                                            receivers.volatile_items.end());
  }
  return WriteMessage(response_, bytes);
}

}  // namespace actord::daemon
