#include "runtime/turn/continuing.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/process/payload.h"
#include "runtime/process/upgrading.h"
#include "runtime/step/record_format.h"
#include "runtime/system/assert.h"
#include "runtime/turn/inbox.h"

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
        kEventKeptExit,
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

// The events from number `from` on.
UnseenEvents NewEvents(const DecodedRecord& decoded, size_t from,
                       uint32_t generation, Lane& lane) {
  UnseenEvents unseen;
  // The first step of the life has got events already if `from` is not 0.
  const size_t first = from == 0 ? Inbox::kMaxEvents : 0;
  for (size_t i = from; i < decoded.events.size(); ++i) {
    Envelope* const envelope = EnvelopeOf(decoded.events[i], lane);
    envelope->generation = generation;
    if (i < first) {
      unseen.first.PushBack(envelope);
      continue;
    }
    unseen.rest.PushBack(envelope);
    ++unseen.rest_count;
    unseen.rest_units += envelope->units();
  }
  return unseen;
}

void Free(EnvelopeList& list, Lane& lane) {
  while (Envelope* const envelope = list.PopFront()) lane.Free(envelope);
}
void Free(UnseenEvents& unseen, Lane& lane) {
  Free(unseen.first, lane);
  Free(unseen.rest, lane);
}

// Puts all of them before the other events of the process. `rest` is counted.
void Push(UnseenEvents unseen, Process& process) {
  EnvelopeList later = std::exchange(process.urgent_taken, unseen.first);
  while (Envelope* const envelope = later.PopFront()) {
    process.urgent_taken.PushBack(envelope);
  }
  Envelope* const newer = process.in_hand;
  Envelope* last = nullptr;
  while (Envelope* const envelope = unseen.rest.PopFront()) {
    if (last == nullptr) {
      process.in_hand = envelope;
    } else {
      last->SetNext(envelope);
    }
    last = envelope;
    last->SetNext(newer);
  }
}

absl::Status NoRoom(uint64_t count) {
  return absl::ResourceExhaustedError(
      absl::StrCat("continue_as hands on so many messages and exits that the "
                   "mailbox of the process has no room for ",
                   count, " of them"));
}

}  // namespace

std::vector<const Envelope*> FirstUnseen(const Process& process, size_t count) {
  std::vector<const Envelope*> events;
  const EnvelopeList& urgent = process.urgent_taken;
  for (const Envelope* event = urgent.head();
       event != nullptr && events.size() < count && Inbox::IsUnseen(*event);
       event = urgent.After(event)) {
    events.push_back(event);
  }
  for (const Envelope* event = process.in_hand;
       event != nullptr && events.size() < count; event = event->Next()) {
    events.push_back(event);
  }
  return events;
}

void KeepUnseen(Process& process, Lane& lane,
                absl::FunctionRef<void(const Envelope&)> forget) {
  UnseenEvents kept;
  EnvelopeList others;
  while (Envelope* const envelope = process.urgent_taken.PopFront()) {
    if (!Inbox::IsUnseen(*envelope)) {
      others.PushBack(envelope);
      continue;
    }
    kept.rest.PushBack(envelope);
    ++kept.rest_count;
    kept.rest_units += envelope->units();
  }
  process.urgent_taken = others;
  if (kept.rest_count == 0) return;
  if (!Activity::AddOlder(process.activity, kept.rest_count, kept.rest_units)) {
    // 900,000 messages wait behind them.
    lane.Count(&Counters::dead_letters_forgotten, kept.rest_count);
    lane.Count(&Counters::dead_letters, kept.rest_count);
    for (const Envelope* event = kept.rest.head(); event != nullptr;
         event = kept.rest.After(event)) {
      forget(*event);
    }
    return Free(kept, lane);
  }
  Push(kept, process);
}

absl::Status PushUnseen(std::string_view bytes, uint64_t left, Process& process,
                        Lane& lane) {
  ACTORD_ASSERT((process.activity.load() & Activity::kEnded) != 0,
                "continuing.h: the process is not live yet");
  DecodedRecord decoded;
  absl::Status status = Decode(bytes, lane, decoded);
  if (!status.ok()) return status;
  const size_t all = decoded.events.size();
  if (left > all) return absl::InvalidArgumentError("there are too few");
  UnseenEvents unseen =
      NewEvents(decoded, left == 0 ? 0 : all - left,
                process.generation.load(std::memory_order_relaxed), lane);
  if (!Activity::AddOlder(process.activity, unseen.rest_count,
                          unseen.rest_units)) {
    Free(unseen, lane);
    return NoRoom(unseen.rest_count);
  }
  Push(unseen, process);
  return status;
}

std::optional<EndCause> Continuing::Prepare(Process& process, const Turn& turn,
                                            std::vector<uint64_t> owed) {
  StepRecord& record = caller_.record();
  ACTORD_ASSERT(record.continuation != nullptr,
                "continuing.h: the process begins again");
  DecodedRecord decoded;
  const absl::Status status =
      Decode(record.continuation->unseen, lane_, decoded);
  ACTORD_ASSERT(status.ok(), "continuing.cc: the record's events are encoded");
  unseen_ = NewEvents(decoded, 0, turn.generation, lane_);
  if (!Activity::AddOlder(process.activity, unseen_.rest_count,
                          unseen_.rest_units)) {
    Free(unseen_, lane_);
    const absl::Status why = NoRoom(std::exchange(unseen_, {}).rest_count);
    return EndCause{EndKind::kLimit, why.code(), std::string(why.message())};
  }
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
  return std::nullopt;
}

void Continuing::Abandon(Turn& turn) {
  turn.Took(unseen_.rest_count, unseen_.rest_units);
  Free(unseen_, lane_);
  unseen_ = {};
}

size_t Continuing::EndLife(Process& process, Turn& turn,
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
  size_t count = unseen_.rest_count;
  for (const Envelope* event = unseen_.first.head(); event != nullptr;
       event = unseen_.first.After(event)) {
    ++count;
  }
  Push(std::exchange(unseen_, {}), process);
  return count;
}

}  // namespace actord::runtime
