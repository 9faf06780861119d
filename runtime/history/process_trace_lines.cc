// The lines of a history, and the events that wait for a step.
#include <utility>

#include "actord/abi.h"
#include "runtime/history/process_trace.h"

namespace actord::runtime {

HistoryItem ProcessTrace::Item(HistoryKind kind, uint64_t store_ns) const {
  HistoryItem item;
  item.kind = kind;
  item.position = lsn_;
  item.unix_ns = UnixNs(store_ns == 0 ? last_ns_ : store_ns);
  return item;
}

void ProcessTrace::SetPayload(HistoryItem& item, const Payload& payload) const {
  item.payload_bytes = payload.bytes.size();
  item.payload.bytes = payload.bytes.substr(0, max_payload_bytes_);
  item.payload.content_type = payload.content_type;
}

void ProcessTrace::Arrive(uint64_t position, Arrival arrival,
                          const Payload& payload) {
  if (arrival.at_ns == 0) arrival.at_ns = last_ns_;
  arrival.payload_bytes = payload.bytes.size();
  if (held_bytes_ < kMaxHeldBytes) {
    arrival.payload.bytes = payload.bytes.substr(0, max_payload_bytes_);
    arrival.payload.content_type = payload.content_type;
  }
  Forget(position);
  held_bytes_ += sizeof(Arrival) + arrival.payload.bytes.size();
  arrivals_.emplace(position, std::move(arrival));
}

void ProcessTrace::Forget(uint64_t position) {
  const auto found = arrivals_.find(position);
  if (found == arrivals_.end()) return;
  held_bytes_ -= sizeof(Arrival) + found->second.payload.bytes.size();
  arrivals_.erase(found);
}

void ProcessTrace::EndCall(uint64_t tag) {
  for (auto call = calls_.begin(); call != calls_.end(); ++call) {
    if (call->second != tag) continue;
    calls_.erase(call);
    return;
  }
}

HistoryItem ProcessTrace::ItemOf(const Arrival& arrival,
                                 uint64_t position) const {
  HistoryItem item;
  switch (arrival.kind) {
    case MailKind::kMessage:
      item.kind = HistoryKind::kMessage;
      break;
    case MailKind::kCall:
      item.kind = HistoryKind::kCall;
      break;
    case MailKind::kCompletion:
      item.kind = HistoryKind::kCompletion;
      break;
    case MailKind::kCancel:
    case MailKind::kTerminate:
      item.kind = HistoryKind::kCancelSeen;
      break;
  }
  item.position = position;
  item.unix_ns = UnixNs(arrival.at_ns);
  item.peer = arrival.from;
  item.name = arrival.topic;
  item.payload = arrival.payload;
  item.payload_bytes = arrival.payload_bytes;
  item.tag = arrival.tag;
  item.code = arrival.status;
  if (item.code != ACTORD_OK) item.message = arrival.payload.bytes;
  return item;
}

HistoryItem ProcessTrace::Waiting(uint64_t position, const Mail& mail) const {
  const auto found = arrivals_.find(position);
  HistoryItem item;
  if (found != arrivals_.end()) {
    item = ItemOf(found->second, position);
  } else {
    Arrival arrival{.kind = mail.kind,
                    .from = mail.from,
                    .tag = mail.tag,
                    .status = mail.status};
    item = ItemOf(arrival, position);
    if (mail.body.has_value()) {
      item.name = mail.body->topic;
      SetPayload(item, mail.body->payload);
    }
  }
  switch (item.kind) {
    case HistoryKind::kMessage:
      item.detail = "message";
      break;
    case HistoryKind::kCall:
      item.detail = "call";
      break;
    case HistoryKind::kCompletion:
      item.detail = "completion";
      break;
    default:
      item.detail = "cancel";
  }
  item.kind = HistoryKind::kWaiting;
  return item;
}

}  // namespace actord::runtime
