// performance-notes: Rare code moved out.
#include "runtime/delivery/delivery.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

Delivery::Delivery(const ProcessTable& processes, Scheduler& scheduler,
                   const LiveLimits& limits)
    : processes_(processes), scheduler_(scheduler), limits_(limits) {}

[[gnu::always_inline]] inline Posted Delivery::SendTo(
    const FoundProcess& process, Envelope* first, Envelope* last,
    uint64_t count, uint64_t units, Lane& lane, ReadyList* ready) {
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  if (!HasRoom(word, count, units)) [[unlikely]] {
    return Result::kMailboxFull;
  }
  if (processes_.mailbox_bytes_of().IsCounting() &&
      !Charge(*process, first, last, units)) [[unlikely]] {
    return Result::kOverQuota;
  }
  for (Envelope* envelope = first; envelope != last;
       envelope = envelope->Next()) {
    envelope->generation = process.generation;
  }
  last->generation = process.generation;
  lane.Count(&Counters::messages_sent, count);
  if (process->Post(first, last, word, Activity::ForMessages(count, units))) {
    Enqueue(process.process, lane, ready);
  }
  return Result::kDelivered;
}

// A copy of SendTogether for one envelope, because most steps send one message.
Delivery::Result Delivery::Send(Owner by, const Pid& to, Envelope* envelope,
                                Lane& lane, ReadyList* ready) {
  const uint64_t units = envelope->units();
  const FoundProcess process = processes_.FindVolatile(to, by);
  if (!process) [[unlikely]] {
    return SendToDurable(by, to, envelope, envelope, 1, units, lane, ready);
  }
  return SendTo(process, envelope, envelope, 1, units, lane, ready);
}

Delivery::Result Delivery::SendTogether(Owner by, const Pid& to,
                                        Envelope* first, Envelope* last,
                                        uint64_t count, uint64_t units,
                                        Lane& lane, ReadyList* ready) {
  const FoundProcess process = processes_.FindVolatile(to, by);
  if (!process) [[unlikely]] {
    return SendToDurable(by, to, first, last, count, units, lane, ready);
  }
  return SendTo(process, first, last, count, units, lane, ready);
}

template <typename Deliver>
Posted Delivery::WithDurable(const Pid& to, Owner by, Deliver deliver) {
  if (!processes_.HasHome(to)) return WhyNobody(to, by);
  // Wakes a dormant process.
  while (processes_.Find(to, by)) {
    const MutexLock lock(processes_.ResidencyOf(to));
    const FoundProcess process = processes_.FindAwake(to);
    if (process && Sees(by, process->owner.load(std::memory_order_relaxed))) {
      return deliver(process);
    }
    // It has ended in the meantime, or is dormant again.
  }
  return WhyNobody(to, by);
}

Posted Delivery::SendToDurable(Owner by, const Pid& to, Envelope* first,
                               Envelope* last, uint64_t count, uint64_t units,
                               Lane& lane, ReadyList* ready) {
  return WithDurable(to, by, [&](const FoundProcess& process) {
    return SendTo(process, first, last, count, units, lane, ready);
  });
}

bool Delivery::Charge(const Process& process, Envelope* first, Envelope* last,
                      uint64_t units) const {
  // If the slot has another process by now, its owner is charged until that
  // process drops the messages.
  const Owner owner = process.owner.load(std::memory_order_relaxed);
  switch (processes_.mailbox_bytes_of().Take(owner, units * kBufferUnitBytes)) {
    case OwnerLimits::Taken::kRefused:
      return false;
    case OwnerLimits::Taken::kNotCounted:
      return true;
    case OwnerLimits::Taken::kCounted:
      break;
  }
  for (Envelope* envelope = first; envelope != last;
       envelope = envelope->Next()) {
    envelope->charged = owner;
  }
  last->charged = owner;
  return true;
}

absl::Status Delivery::OverQuota(uint64_t max, Lane& lane) {
  lane.Count(&Counters::refused_mailbox_of_owner);
  return QuotaExceeded(
      absl::StrCat("the owner of the process is at its quota of ", max,
                   " bytes in the mailboxes of its processes "
                   "(quotas.mailbox_bytes)"),
      "mailbox_bytes", max, absl::Milliseconds(100));
}

Posted Delivery::Post(const Pid& to, Run& run, Lane& lane, ReadyList* later) {
  if (run.kind != Run::Kind::kMessages && run.kind != Run::Kind::kCall) {
    return run.kind == Run::Kind::kExit ? PostExit(to, run, lane, later)
                                        : PostUrgent(to, run, lane, later);
  }
  const Posted posted = SendTogether(run.by, to, run.first, run.last, run.count,
                                     run.units, lane, later);
  if (posted != Posted::kDelivered) return posted;
  run.first = nullptr;
  if (run.kind == Run::Kind::kMessages) return posted;
  // The end first changes the generation and then empties the mailbox
  // (ending.h, 3 and 12). A call first fills the mailbox and then checks the
  // generation. Both use an RMW on the generation (the check leaves the value
  // as it is), so the later RMW sees all that the other thread did before. So
  // either the end finds the message, or the check finds the end.
  FailPoint();
  return processes_.IsStill(to) ? posted : Posted::kEnded;
}

Posted Delivery::PostUrgent(const Pid& to, Run& run, Lane& lane,
                            ReadyList* later) {
  const FoundProcess found = processes_.FindVolatile(to, run.by);
  if (found) return UrgentTo(found, run, lane, later);
  return WithDurable(to, run.by, [&](const FoundProcess& process) {
    return UrgentTo(process, run, lane, later);
  });
}

Posted Delivery::UrgentTo(const FoundProcess& process, Run& run, Lane& lane,
                          ReadyList* later) {
  // Only a flood of cancels to a process that gets no turn reaches this limit;
  // one cancel is enough.
  if (run.kind == Run::Kind::kControl &&
      Activity::Urgent(process->activity.load(std::memory_order_relaxed)) >=
          Activity::kUrgentMax) {
    return Posted::kMailboxFull;
  }
  Envelope* const event = std::exchange(run.first, nullptr);
  event->generation = process.generation;
  bool has_to_enqueue = false;
  if (run.kind != Run::Kind::kLinkedEnd) {
    has_to_enqueue = process->PostUrgent(event);
  } else if (process->urgent.Push(event)) {
    // One event for each link may come at once, which is more than the word can
    // count. So only an event that finds the queue empty is counted; an event
    // on top of another event is taken with it.
    has_to_enqueue = Activity::Add(process->activity, Activity::kUrgentOne);
  }
  if (has_to_enqueue) Enqueue(process.process, lane, later);
  return Posted::kDelivered;
}

Posted Delivery::PostExit(const Pid& to, Run& run, Lane& lane,
                          ReadyList* later) {
  const FoundProcess found = processes_.FindVolatile(to, run.by);
  if (found) return ExitTo(found, run, lane, later);
  return WithDurable(to, run.by, [&](const FoundProcess& process) {
    return ExitTo(process, run, lane, later);
  });
}

Posted Delivery::ExitTo(const FoundProcess& process, Run& run, Lane& lane,
                        ReadyList* later) {
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  if (run.first->payload_bytes > Run::kAlwaysRoomBytes &&
      Activity::Units(word) + run.first->payload_bytes / kBufferUnitBytes >
          limits_.max_mailbox_bytes() / kBufferUnitBytes) {
    return Posted::kMailboxFull;
  }
  Envelope* const exit = std::exchange(run.first, nullptr);
  exit->generation = process.generation;
  if (process->Post(exit, exit, word, Activity::ForMessages(1, run.units))) {
    Enqueue(process.process, lane, later);
  }
  return Posted::kDelivered;
}

absl::Status Delivery::SendOrExplain(Owner by, const Pid& to,
                                     Envelope* envelope, Lane& lane,
                                     ReadyList* ready) {
  const Result result = Send(by, to, envelope, lane, ready);
  if (result == Result::kDelivered) return absl::OkStatus();
  lane.Free(envelope);
  return Explain(by, to, result, lane);
}

absl::Status Delivery::SendAll(Owner by, const Pid& to,
                               const std::vector<Message>& messages,
                               Lane& lane) {
  ACTORD_ASSERT(messages.size() <= Activity::kMaxChain,
                "delivery.h: there are at most kMaxChain messages");
  if (messages.empty()) {
    return processes_.Find(to, by) ? absl::OkStatus()
                                   : processes_.WhyNotFound(to, by);
  }
  EnvelopeList linked;
  Envelope* last = nullptr;
  uint64_t units = 0;
  for (const Message& message : messages) {
    last = Traced(lane.NewEnvelope(ACTORD_EVENT_MESSAGE, message.topic,
                                   ToAbi(message.payload)),
                  ActingTrace::Here(), lane);
    units += last->units();
    linked.PushBack(last);
  }
  const Result result =
      SendTogether(by, to, linked.head(), last, messages.size(), units, lane);
  if (result == Result::kDelivered) return absl::OkStatus();
  while (Envelope* envelope = linked.PopFront()) lane.Free(envelope);
  return Explain(by, to, result, lane);
}

absl::Status Delivery::Explain(Owner by, const Pid& to, Result why,
                               Lane& lane) const {
  ACTORD_ASSERT(why != Result::kDelivered,
                "delivery.h: the event was not delivered");
  if (why == Result::kOverQuota) {
    // If the process has ended since, the error reports that.
    if (const auto owner = processes_.OwnerOf(to)) {
      return OverQuota(processes_.mailbox_bytes_of().MaxOf(*owner), lane);
    }
  }
  if (why != Result::kMailboxFull) return processes_.WhyNotFound(to, by);
  lane.Count(&Counters::refused_mailbox);
  return Retryable(
      absl::StatusCode::kResourceExhausted, reason::kMailboxFull,
      absl::StrCat("the mailbox of process ", FormatPid(to),
                   " is full: its limits are ", limits_.max_mailbox_messages(),
                   " messages and ", limits_.max_mailbox_bytes(), " bytes"),
      absl::Milliseconds(100));
}

absl::Status Delivery::Control(Owner by, const Pid& to, uint16_t type,
                               std::string_view reason, Lane& lane,
                               uint64_t position) {
  Run run(Run::Kind::kControl,
          lane.NewEnvelope(
              type, {}, {ToAbi(reason), ToAbi(std::string_view("text/plain"))}),
          by);
  run.first->completion.tag = position;
  const Posted posted = Post(to, run, lane);
  if (posted == Posted::kDelivered) return absl::OkStatus();
  lane.Free(run.first);
  if (posted != Posted::kMailboxFull) return processes_.WhyNotFound(to, by);
  return Retryable(absl::StatusCode::kResourceExhausted, reason::kMailboxFull,
                   absl::StrCat("process ", FormatPid(to),
                                " has too many control events waiting"),
                   absl::Milliseconds(100));
}

void Delivery::Preload(Process& process, const std::vector<Message>& messages,
                       Owner charged, uint64_t position,
                       const TraceContext* trace, Lane& lane) {
  ACTORD_ASSERT(
      process.in_hand == nullptr &&
          Activity::Messages(process.activity.load()) >= messages.size(),
      "delivery.h: in_hand is empty, and the messages are counted");
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  for (auto message = messages.rbegin(); message != messages.rend();
       ++message) {
    const actord_payload payload = ToAbi(message->payload);
    const auto number = static_cast<uint64_t>(messages.rend() - message - 1);
    Envelope* const plain =
        position == 0
            ? lane.NewEnvelope(ACTORD_EVENT_MESSAGE, message->topic, payload)
            : NewLoggedMessage({}, message->topic, payload, position + number,
                               lane);
    Envelope* const envelope = Traced(plain, trace, lane);
    envelope->generation = generation;
    envelope->charged = charged;
    envelope->SetNext(process.in_hand);
    process.in_hand = envelope;
  }
  lane.Count(&Counters::messages_sent, messages.size());
}

}  // namespace actord::runtime
