#include "runtime/turn/continuing.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "handlers/rules/process_rules.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/process/payload.h"
#include "runtime/process/upgrading.h"
#include "runtime/step/record_format.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

absl::Status Decode(std::string_view unseen, Lane& lane,
                    DecodedRecord& decoded) {
  // There are no effects, so nothing is left to free.
  return lane.WithMemory([&](BufferCache& buffers, auto& /*processes*/) {
    return DecodeTurn(unseen, buffers, decoded);
  });
}

Envelope* EnvelopeOf(const actord_event& event, Lane& lane) {
  const std::string_view topic = View(event.topic);
  Envelope* envelope = nullptr;
  if (event.type == ACTORD_EVENT_EXIT) {
    envelope = detail::NewWithHeader(
        ACTORD_EVENT_EXIT,
        ExitHeader{.from = event.from, .reason = event.reason, .end = 0}, topic,
        event.payload, lane);
    envelope->completion.tag = event.tag;
    envelope->completion.status = event.status;
    return envelope;
  }
  if (event.call != 0) {
    envelope = detail::NewWithHeader(kEventCall, CallHeader{event.call}, topic,
                                     event.payload, lane);
    envelope->type = kEventKeptCall;
  } else {
    envelope = lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, event.payload);
  }
  envelope->from = event.from;
  return envelope;
}

}  // namespace

absl::Status PushUnseen(std::string_view unseen, Process& process,
                        uint32_t generation, Lane& lane) {
  DecodedRecord decoded;
  absl::Status status = Decode(unseen, lane, decoded);
  if (!status.ok()) return status;
  EnvelopeList later = std::exchange(process.urgent_taken, {});
  for (const actord_event& event : decoded.events) {
    Envelope* const envelope = EnvelopeOf(event, lane);
    envelope->generation = generation;
    process.urgent_taken.PushBack(envelope);
  }
  while (Envelope* const envelope = later.PopFront()) {
    process.urgent_taken.PushBack(envelope);
  }
  return status;
}

void Continuing::FailOwedCalls(std::vector<uint64_t> owed) {
  StepRecord& record = caller_.record();
  DecodedRecord decoded;
  const absl::Status status =
      Decode(record.continuation->unseen, lane_, decoded);
  ACTORD_ASSERT(status.ok(), "continuing.cc: the record's events are encoded");
  absl::flat_hash_set<uint64_t> kept;
  for (const actord_event& event : decoded.events) kept.insert(event.call);
  for (const Effect& effect : record.effects) {
    const auto* const reply = std::get_if<ReplyEffect>(&effect);
    if (reply != nullptr) kept.insert(reply->call);
  }
  // Sorted, so that the order does not depend on a hash.
  std::sort(owed.begin(), owed.end());
  for (const uint64_t call : owed) {
    if (kept.contains(call)) continue;
    Envelope* const failure = lane_.NewEnvelope(
        ACTORD_EVENT_COMPLETION, {}, TextPayload(rules::kCallNotKeptText));
    failure->completion.status = ACTORD_ABORTED;
    record.effects.emplace_back(std::in_place_type<ReplyEffect>,
                                ReplyEffect{Content(failure), call});
  }
}

void Continuing::EndLife(Process& process, Turn& turn,
                         std::vector<YieldToken>* withdrawn) {
  const std::unique_ptr<Continuation> next =
      std::move(caller_.record().continuation);
  ACTORD_ASSERT(next != nullptr, "continuing.h: the process begins again");
  upgrader_.Fence(process, turn, YieldAdoption{}, withdrawn);
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  caller_.Close(process, type, std::exchange(process.state, nullptr));
  if (!next->method.empty()) {
    process.method.store(static_cast<uint16_t>(type.FindMethod(next->method)),
                         std::memory_order_release);
  }
  if (!next->input.bytes.empty() || !next->input.content_type.empty()) {
    process.input =
        lane_.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, ToAbi(next->input));
  }
  const absl::Status status =
      PushUnseen(next->unseen, process, turn.generation, lane_);
  ACTORD_ASSERT(status.ok(), "continuing.cc: the record's events are encoded");
}

}  // namespace actord::runtime
