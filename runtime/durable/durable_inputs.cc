#include "runtime/durable/durable_inputs.h"

#include <algorithm>
#include <utility>

#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"

namespace actord::runtime {

Sent DurableInputs::SendAll(Owner by, const Pid& to,
                            std::span<const Message> messages, Lane& lane,
                            ReadyList* ready, const InputId& id) {
  const FoundProcess process = processes_.Find(to, by);
  if (!process) return {processes_.WhyNotFound(to, by)};
  absl::Status status = durable_.CheckRoom();
  if (!status.ok()) return {status};
  const TraceContext* const trace = ActingTrace::Here();
  uint64_t units = 0;
  for (const Message& message : messages) {
    units += TracedBytesFor(message.topic, ToAbi(message.payload),
                            /*is_logged=*/true, trace) /
             kBufferUnitBytes;
  }
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  if (!delivery_.HasRoom(word, messages.size(), units)) {
    return {delivery_.Explain(by, to, Posted::kMailboxFull, lane)};
  }
  records::Input input{.to = to,
                       .kind = records::InputKind::kMessages,
                       .owner = by,
                       .at_ns = durable_.NowNs()};
  if (id.is_set()) {
    input.request = {.id = id.id->id, .fingerprint = id.id->fingerprint};
    input.owner = id.id->owner;
    input.is_submit = id.is_submit;
  }
  for (const Message& message : messages) {
    input.messages.push_back(
        {.topic = message.topic, .payload = message.payload});
  }
  const absl::StatusOr<uint64_t> position = durable_.Append(input);
  if (!position.ok()) {
    return {durable_.OfRequest(messages.size() == 1 ? "payload" : "messages",
                               position.status())};
  }
  if (messages.empty()) return {absl::OkStatus(), *position};
  EnvelopeList linked;
  Envelope* last = nullptr;
  for (size_t i = 0; i < messages.size(); ++i) {
    last = Traced(
        NewLoggedMessage({}, messages[i].topic, ToAbi(messages[i].payload),
                         *position + i, lane),
        trace, lane);
    linked.PushBack(last);
  }
  const Posted posted = delivery_.SendTogether(
      by, to, linked.head(), last, messages.size(), units, lane, ready);
  if (posted == Posted::kDelivered) return {absl::OkStatus(), *position};
  while (Envelope* envelope = linked.PopFront()) lane.Free(envelope);
  // Another thread has filled the mailbox, or the process has ended.
  return Refuse(to, *position, messages.size(), posted,
                delivery_.Explain(by, to, posted, lane), id);
}

Sent DurableInputs::Refuse(const Pid& to, uint64_t position, size_t count,
                           Posted posted, absl::Status status,
                           const InputId& id) {
  const bool is_full =
      posted == Posted::kMailboxFull || posted == Posted::kOverQuota;
  const records::DropReason reason =
      is_full ? records::DropReason::kMailboxFull : records::DropReason::kEnded;
  // A refused message must not act later, and a message that its sender still
  // has must not become a dead letter.
  records::Dropped dropped{.to = to, .reason = reason, .is_told = true};
  if (id.is_set()) {
    dropped.request = id.id->id;
    dropped.owner = id.id->owner;
    dropped.is_submit = id.is_submit;
    dropped.is_call = id.is_call;
  }
  for (size_t i = 0; i < count; ++i) {
    dropped.positions.list.push_back({.lsn = position + i});
  }
  const absl::StatusOr<uint64_t> lsn = durable_.Append(dropped);
  if (!lsn.ok()) return {lsn.status()};
  return {std::move(status), *lsn};
}

Sent DurableInputs::Control(Owner by, const Pid& to, uint16_t type,
                            std::string_view reason, uint64_t deadline_ns,
                            Lane& lane) {
  if (!processes_.Find(to, by)) return {processes_.WhyNotFound(to, by)};
  if (absl::Status status = durable_.CheckFilling(); !status.ok()) {
    return {std::move(status)};
  }
  records::Input input{.to = to,
                       .kind = type == ACTORD_EVENT_CANCEL
                                   ? records::InputKind::kCancel
                                   : records::InputKind::kTerminate,
                       .owner = by,
                       .payload = {std::string(reason), "text/plain"},
                       .at_ns = durable_.NowNs()};
  if (deadline_ns != 0) {
    input.deadline_ns =
        input.at_ns + std::min(deadline_ns, UINT64_MAX - input.at_ns);
  }
  const absl::StatusOr<uint64_t> position = durable_.Append(input);
  if (!position.ok()) return {position.status()};
  absl::Status status =
      delivery_.Control(by, to, type, reason, lane, *position);
  if (status.ok()) return {status, *position};
  return Refuse(
      to, *position, 1,
      absl::IsResourceExhausted(status) ? Posted::kMailboxFull : Posted::kEnded,
      std::move(status));
}

}  // namespace actord::runtime
