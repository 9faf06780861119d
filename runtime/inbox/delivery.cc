#include "runtime/inbox/delivery.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::runtime {

Delivery::Delivery(const ProcessTable& processes, Scheduler& scheduler,
                   const LiveLimits& limits)
    : processes_(processes), scheduler_(scheduler), limits_(limits) {}

Delivery::Result Delivery::Send(const Pid& to, Envelope* envelope, Lane& lane,
                                ReadyList* ready) {
  return SendTogether(to, envelope, envelope, 1, envelope->units(), lane,
                      ready);
}

Delivery::Result Delivery::SendTogether(const Pid& to, Envelope* first,
                                        Envelope* last, uint64_t count,
                                        uint64_t units, Lane& lane,
                                        ReadyList* ready) {
  Process* process = processes_.Find(to);
  if (process == nullptr) return Result::kNoProcess;
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  if (!HasRoom(word, count, units)) [[unlikely]] {
    return Result::kMailboxFull;
  }
  for (Envelope* envelope = first; envelope != last;
       envelope = envelope->Next()) {
    envelope->generation = to.generation;
  }
  last->generation = to.generation;
  lane.Count(&Counters::messages_sent, count);
  if (process->Post(first, last, word, Activity::ForMessages(count, units))) {
    if (ready == nullptr) {
      scheduler_.Enqueue(process, lane.here());
    } else {
      scheduler_.EnqueueLater(process, *ready);
    }
  }
  return Result::kDelivered;
}

absl::Status Delivery::SendOrExplain(const Pid& to, Envelope* envelope,
                                     Lane& lane, ReadyList* ready) {
  const Result result = Send(to, envelope, lane, ready);
  if (result == Result::kDelivered) return absl::OkStatus();
  lane.Free(envelope);
  return Explain(to, result, lane);
}

absl::Status Delivery::SendAll(const Pid& to,
                               const std::vector<Message>& messages,
                               Lane& lane) {
  if (messages.empty()) {
    return processes_.Find(to) != nullptr ? absl::OkStatus()
                                          : processes_.WhyNotFound(to);
  }
  EnvelopeList linked;
  Envelope* last = nullptr;
  uint64_t units = 0;
  for (const Message& message : messages) {
    last = lane.NewEnvelope(ACTORD_EVENT_MESSAGE, message.topic,
                            ToAbi(message.payload));
    units += last->units();
    linked.PushBack(last);
  }
  const Result result =
      SendTogether(to, linked.head(), last, messages.size(), units, lane);
  if (result == Result::kDelivered) return absl::OkStatus();
  while (Envelope* envelope = linked.PopFront()) lane.Free(envelope);
  return Explain(to, result, lane);
}

absl::Status Delivery::Explain(const Pid& to, Result why, Lane& lane) const {
  if (why == Result::kNoProcess) return processes_.WhyNotFound(to);
  lane.Count(&Counters::refused_mailbox);
  return Retryable(
      absl::StatusCode::kResourceExhausted, reason::kMailboxFull,
      absl::StrCat("the mailbox of process ", FormatPid(to),
                   " is full: its limits are ", limits_.max_mailbox_messages(),
                   " messages and ", limits_.max_mailbox_bytes(), " bytes"),
      absl::Milliseconds(100));
}

absl::Status Delivery::Control(const Pid& to, uint16_t type,
                               std::string_view reason, Lane& lane) {
  Process* process = processes_.Find(to);
  if (process == nullptr) return processes_.WhyNotFound(to);
  // Only a flood of cancels at a process that does not come to its turn gets
  // here; one of them is enough.
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  if (Activity::Urgent(word) >= Activity::kUrgentMax) {
    return Retryable(absl::StatusCode::kResourceExhausted, reason::kMailboxFull,
                     absl::StrCat("process ", FormatPid(to),
                                  " has too many control events waiting"),
                     absl::Milliseconds(100));
  }
  Envelope* envelope = lane.NewEnvelope(
      type, {}, {ToAbi(reason), ToAbi(std::string_view("text/plain"))});
  envelope->generation = to.generation;
  if (process->PostUrgent(envelope)) {
    scheduler_.Enqueue(process, lane.here());
  }
  return absl::OkStatus();
}

void Delivery::Preload(Process& process, const std::vector<Message>& messages,
                       Lane& lane) {
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  for (auto message = messages.rbegin(); message != messages.rend();
       ++message) {
    Envelope* const envelope = lane.NewEnvelope(
        ACTORD_EVENT_MESSAGE, message->topic, ToAbi(message->payload));
    envelope->generation = generation;
    envelope->SetNext(process.in_hand);
    process.in_hand = envelope;
  }
  lane.Count(&Counters::messages_sent, messages.size());
}

}  // namespace actord::runtime
