#include "runtime/durable/input_batch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/journal/format.h"
#include "runtime/records/record_codec.h"
#include "runtime/records/record_fields.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

InputBatch::~InputBatch() {
  for (const Item& item : items_) lane_.Free(item.envelope);
}

absl::Status InputBatch::Add(Owner by, const Pid& to, const Message& message,
                             uint64_t item) {
  // The limit of payloads may have been lowered since the check.
  ACTORD_ASSERT_HOT(message.topic.size() <= kMaxLabelBytes,
                    "input_batch.h: the topic is within its limit");
  const ProcessTable& processes = delivery_.processes();
  const FoundProcess process = processes.Find(to, by);
  if (!process) return processes.WhyNotFound(to, by);
  const actord_payload payload = ToAbi(message.payload);
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  const TraceContext* const trace = ActingTrace::Here();
  const uint64_t units =
      TracedBytesFor(message.topic, payload, /*is_logged=*/true, trace) /
      kBufferUnitBytes;
  Waiting& waiting = waiting_[to];
  if (!delivery_.HasRoom(word, waiting.count + 1, waiting.units + units)) {
    return delivery_.Explain(by, to, Posted::kMailboxFull, lane_);
  }
  input_.to = to;
  input_.owner = by;
  input_.at_ns = durable_.NowNs();
  input_.messages[0].topic = message.topic;
  input_.messages[0].payload = message.payload;
  const size_t begin = bytes_.size();
  EncodeFields(input_, bytes_);
  const size_t size = bytes_.size() - begin;
  if (absl::Status status = durable_.CheckSize("payload", size); !status.ok()) {
    bytes_.resize(begin);
    return status;
  }
  ++waiting.count;
  waiting.units += units;
  // Send sets the position.
  items_.push_back(
      {to, by, item,
       Traced(NewLoggedMessage({}, message.topic, payload, 0, lane_), trace,
              lane_),
       begin, size});
  return absl::OkStatus();
}

uint64_t InputBatch::Send(
    ReadyList& ready, absl::FunctionRef<void(size_t bytes)> delivered,
    absl::FunctionRef<void(uint64_t item, const absl::Status& why)> refused) {
  if (items_.empty()) return 0;
  std::vector<Record> records;
  records.reserve(items_.size());
  for (const Item& item : items_) {
    records.push_back({static_cast<uint16_t>(records::Input::kKind),
                       records::FlagsOf(records::Input::kKind),
                       std::string_view(bytes_).substr(item.begin, item.size)});
  }
  const absl::StatusOr<uint64_t> first = durable_.AppendAll(records);
  const std::vector<Item> items = std::exchange(items_, {});
  waiting_.clear();
  bytes_.clear();
  uint64_t position = first.ok() ? *first : 0;
  uint64_t last = position;
  // After a refusal the later messages to the same process are refused as well,
  // even if its mailbox has room by then.
  absl::flat_hash_map<Pid, Posted> refusals;
  for (const Item& item : items) {
    if (!first.ok()) {
      lane_.Free(item.envelope);
      refused(item.item, first.status());
      continue;
    }
    item.envelope->WriteHeader(PositionHeader{position});
    last = std::max(last, position);
    const auto earlier = refusals.find(item.to);
    const Posted posted =
        earlier != refusals.end()
            ? earlier->second
            : delivery_.Send(item.by, item.to, item.envelope, lane_, &ready);
    if (posted == Posted::kDelivered) {
      delivered(item.size);
    } else {
      refusals.emplace(item.to, posted);
      // Another thread has filled the mailbox, or the process has ended.
      lane_.Free(item.envelope);
      const Sent sent =
          inputs_.Refuse(item.to, position, 1, posted,
                         delivery_.Explain(item.by, item.to, posted, lane_));
      last = std::max(last, sent.position);
      refused(item.item, sent.status);
    }
    position += RecordBytes(item.size);
  }
  return last;
}

}  // namespace actord::runtime
