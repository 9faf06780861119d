// The rarer effects of a step, and the rarer events.
#include <memory>
#include <utility>

#include "runtime/actors/ties.h"
#include "runtime/turn/calls.h"
#include "runtime/turn/process_runner.h"

namespace actord::runtime {

void ProcessRunner::CommitOther(Process& process, uint32_t generation,
                                const Effect& effect) {
  const Pid self = parts_.processes.PidOf(process, generation);
  switch (effect.kind) {
    case Effect::Kind::kCall:
      parts_.calls.Begin(process, generation, effect, lane_);
      return;
    case Effect::Kind::kReply:
      parts_.calls.Reply(process, effect.number,
                         effect.envelope->completion.status,
                         effect.envelope->payload(), lane_);
      lane_.Free(effect.envelope);
      return;
    case Effect::Kind::kMonitor:
      parts_.watches.Monitor(self, effect.number, effect.to, lane_);
      return;
    case Effect::Kind::kDemonitor:
      parts_.watches.Demonitor(self, effect.number);
      return;
    case Effect::Kind::kLink:
      parts_.watches.Link(self, effect.to, lane_);
      return;
    case Effect::Kind::kUnlink:
      parts_.watches.Unlink(self, effect.to);
      return;
    case Effect::Kind::kCancelYield:
      parts_.broker.Cancel(process, generation, effect.number, lane_);
      return;
    case Effect::Kind::kSend:
    case Effect::Kind::kYield:
    case Effect::Kind::kSpawn:
      return;  // Commit does these
  }
}

void ProcessRunner::WatchChild(const Process& parent, uint32_t generation,
                               const Effect& spawn) {
  const Pid self = parts_.processes.PidOf(parent, generation);
  const Pid child = parts_.processes.PidOf(
      *spawn.child, spawn.child->generation.load(std::memory_order_relaxed));
  if (spawn.link) parts_.watches.Link(self, child, lane_);
  if (spawn.number != 0) {
    parts_.watches.Monitor(self, spawn.number, child, lane_);
  }
}

const Effect* ProcessRunner::StartChildren(const Process& parent,
                                           uint32_t generation,
                                           const Effect* first,
                                           const Effect* end) {
  const Effect* next = first;
  while (next != end && next->kind == Effect::Kind::kSpawn) {
    // Before it can end.
    if (next->link || next->number != 0) [[unlikely]] {
      WatchChild(parent, generation, *next);
    }
    next = StartChild(next, end);
    if (children_.count == children_.processes.size()) {
      parts_.scheduler.EnqueueTogether(children_, lane_.here());
    }
  }
  parts_.scheduler.EnqueueTogether(children_, lane_.here());
  return next;
}

const Effect* ProcessRunner::StartChild(const Effect* spawn,
                                        const Effect* end) {
  Process& child = *spawn->child;
  child.init_due = true;
  child.input = spawn->envelope;
  child.refusal = spawn->refusal;
  child.keep_result = spawn->keep_result;
  const uint32_t generation = child.generation.load(std::memory_order_relaxed);
  const Pid pid = parts_.processes.PidOf(child, generation);
  const Effect* next = spawn + 1;
  Envelope* last = nullptr;
  uint64_t count = 0;
  uint64_t units = 0;
  const uint64_t word = child.activity.load(std::memory_order_relaxed);
  for (; next != end && next->kind == Effect::Kind::kSend && next->to == pid;
       ++next, ++count) {
    Envelope* const envelope = next->envelope;
    units += envelope->units();
    if (!parts_.delivery.HasRoom(word, count + 1, units)) [[unlikely]] {
      units -= envelope->units();
      break;
    }
    envelope->generation = generation;
    envelope->SetNext(nullptr);
    if (last == nullptr) {
      child.in_hand = envelope;
    } else {
      last->SetNext(envelope);
    }
    last = envelope;
  }
  lane_.Count(&Counters::messages_sent, count);
  lane_.Count(&Counters::processes_started);
  if (Activity::Add(child.activity, Activity::kReady - Activity::kEnded +
                                        Activity::ForMessages(count, units))) {
    children_.processes[children_.count++] = &child;
  }
  return next;
}

void ProcessRunner::WriteOtherEvent(Process& process, const Turn& turn,
                                    const Envelope& envelope,
                                    actord_event& event) {
  envelope.WriteOther(event);
  if (event.call != 0) {
    parts_.calls.Owe(process, event.call);
  } else if (envelope.type == ACTORD_EVENT_EXIT) {
    parts_.watches.Seen(parts_.processes.PidOf(process, turn.generation));
  }
}

void ProcessRunner::CommitOneByOne(const Effect* first, const Effect* end) {
  for (const Effect* send = first; send != end; ++send) {
    const Delivery::Result result =
        parts_.delivery.Send(send->to, send->envelope, lane_);
    if (result != Delivery::Result::kDelivered) {
      Drop(send->envelope, send->to, WhyUndelivered(send->to, result));
    }
  }
}

DeadLetterReason ProcessRunner::WhyUndelivered(const Pid& to,
                                               Delivery::Result result) {
  if (result == Delivery::Result::kMailboxFull) {
    lane_.Count(&Counters::refused_mailbox);
    return DeadLetterReason::kMailboxFull;
  }
  return parts_.processes.HasEnded(to) ? DeadLetterReason::kEnded
                                       : DeadLetterReason::kUnknownProcess;
}

void ProcessRunner::DropOther(Envelope* envelope, const Pid& to,
                              DeadLetterReason why) {
  if (envelope->type == kEventCall) {
    parts_.calls.Dropped(*envelope, lane_);
    parts_.dead_letters.Add(envelope, to, why, lane_);
  } else {
    lane_.Free(envelope);
  }
}

}  // namespace actord::runtime
