// The rarer effects of a step, and the rarer events.
#include <memory>
#include <utility>

#include "runtime/actors/ties.h"
#include "runtime/effects/calls.h"
#include "runtime/process/chain.h"
#include "runtime/turn/process_runner.h"

namespace actord::runtime {
namespace {

// What a child that was not to be is told; null: it begins.
const char* TextOf(SpawnRefusal refusal) {
  switch (refusal) {
    case SpawnRefusal::kNone:
      return nullptr;
    case SpawnRefusal::kUnknownType:
      return "the process type is unknown";
    case SpawnRefusal::kUnknownMethod:
      return "the process type has no such method";
  }
  return nullptr;
}

}  // namespace

void ProcessRunner::WatchChild(const SpawnEffect& spawn) {
  const Pid& self = input_.self;
  if (spawn.link) parts_.ties.Link(self, spawn.child, lane_);
  if (spawn.monitor != 0) {
    parts_.ties.Monitor(self, spawn.monitor, spawn.child, lane_);
  }
}

Effect* ProcessRunner::StartChildren(Effect* first, Effect* end) {
  Effect* next = first;
  while (next != end) {
    auto* const spawn = std::get_if<SpawnEffect>(next);
    if (spawn == nullptr) break;
    // Before it can end.
    if (spawn->link || spawn->monitor != 0) [[unlikely]] {
      WatchChild(*spawn);
    }
    next = StartChild(*spawn, next + 1, end);
    if (children_.count == children_.processes.size()) {
      parts_.scheduler.EnqueueTogether(children_, lane_.here());
    }
  }
  parts_.scheduler.EnqueueTogether(children_, lane_.here());
  return next;
}

Effect* ProcessRunner::StartChild(SpawnEffect& spawn, Effect* next,
                                  Effect* end) {
  const Pid& pid = spawn.child;
  Process& child = parts_.processes.Reserved(pid);
  child.init_due = true;
  child.input = spawn.content.Take();
  child.refusal = TextOf(spawn.refusal);
  child.keep_result = spawn.keep_result;
  Envelope* last = nullptr;
  uint64_t count = 0;
  uint64_t units = 0;
  const uint64_t word = child.activity.load(std::memory_order_relaxed);
  for (; next != end; ++next, ++count) {
    auto* const send = std::get_if<SendEffect>(next);
    if (send == nullptr || send->to != pid) break;
    Envelope* const envelope = send->content.get();
    units += envelope->units();
    if (!parts_.delivery.HasRoom(word, count + 1, units)) [[unlikely]] {
      units -= envelope->units();
      break;
    }
    static_cast<void>(send->content.Take());
    envelope->generation = pid.generation;
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
    children_.Add(&child);
  }
  return next;
}

void ProcessRunner::WriteOtherEvent(Process& process, const Envelope& envelope,
                                    actord_event& event) {
  envelope.WriteOther(event);
  if (event.call != 0) parts_.calls.Owe(process, event.call);
}

void ProcessRunner::CommitOneByOne(const Pid& to, Envelope* head,
                                   Envelope* last) {
  const auto send = [&](Envelope* envelope) {
    const Delivery::Result result = parts_.delivery.Send(to, envelope, lane_);
    if (result != Delivery::Result::kDelivered) {
      Drop(envelope, to, WhyUndelivered(result));
    }
  };
  if (head->type == kEventChain) {
    for (Envelope* const envelope : MessagesOf(*head)) send(envelope);
    lane_.Free(head);
    return;
  }
  for (bool is_last = false; !is_last;) {
    Envelope* const envelope = head;
    is_last = envelope == last;
    if (!is_last) head = envelope->Next();
    send(envelope);
  }
}

DeadLetterReason ProcessRunner::WhyUndelivered(Posted posted) {
  if (posted == Posted::kMailboxFull) {
    lane_.Count(&Counters::refused_mailbox);
    return DeadLetterReason::kMailboxFull;
  }
  return posted == Posted::kEnded ? DeadLetterReason::kEnded
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
