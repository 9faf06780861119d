// performance-notes: Rare code moved out, Chains.
#include "runtime/turn/inbox.h"

#include <span>
#include <utility>

#include "runtime/delivery/traced_events.h"
#include "runtime/process/chain.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/assert.h"
#include "runtime/system/processor.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

void Inbox::FreeEnvelopes(std::span<Envelope* const> envelopes) {
  lane_.buffers().DeallocateAll(
      envelopes, [](const Envelope& envelope) { return envelope.bytes(); },
      [](const Envelope& envelope) {
        return envelope.payload_bytes | uint64_t{envelope.topic_bytes} << 32 |
               uint64_t{envelope.content_type.value()} << 48;
      });
}

void Inbox::Uncharge(Process& process, const Envelope& completion) {
  if (completion.completion.yield_slot == kNoYieldSlot) --process.replies;
  if (const uint32_t charge = YieldBroker::ChargeOf(completion)) {
    process.completion_units.fetch_sub(charge, std::memory_order_relaxed);
  }
}

Envelope* Inbox::PopUrgent(Process& process) {
  Envelope* envelope = process.urgent_taken.PopFront();
  if (envelope != nullptr && envelope->type == ACTORD_EVENT_COMPLETION) {
    Uncharge(process, *envelope);
  }
  return envelope;
}

bool Inbox::FillFromUrgent(Process& process, Turn& turn) {
  while (turn.count < kBatch) {
    Envelope* envelope = PopUrgent(process);
    if (envelope == nullptr) break;
    if (envelope->generation != turn.generation) {
      lane_.Free(envelope);  // for an earlier process in this slot
      continue;
    }
    const uint16_t type = envelope->type;
    if (type == ACTORD_EVENT_COMPLETION) {
      if (envelope->completion.yield_slot != kNoYieldSlot) {
        broker_.Close(process, envelope->completion.yield_slot, lane_);
      }
      batch_[turn.count++] = envelope;
      continue;
    }
    if (type == kEventTagCompletion) {
      TakeTagCompletion(process, turn, envelope);
      continue;
    }
    if (type == kEventUpgrade) {
      lane_.Free(envelope);  // this turn has already checked for an upgrade
      continue;
    }
    if (!TakeOrder(process, turn, envelope)) {
      GiveBackUnseen(process, turn);
      return false;
    }
  }
  return true;
}

void Inbox::GiveBackUnseen(Process& process, Turn& turn) {
  EnvelopeList unseen;
  size_t count = 0;
  for (Envelope* const envelope : batch(turn)) {
    if (IsUnseen(*envelope)) {
      unseen.PushBack(envelope);
    } else {
      batch_[count++] = envelope;
    }
  }
  turn.count = count;
  if (unseen.empty()) return;
  while (Envelope* const envelope = process.urgent_taken.PopFront()) {
    unseen.PushBack(envelope);
  }
  process.urgent_taken = unseen;
}

void Inbox::TakeTagCompletion(Process& process, Turn& turn,
                              Envelope* envelope) {
  const uint32_t slot = broker_.EndByTag(process, envelope->completion.tag);
  if (slot == kNoYieldSlot) {
    lane_.Free(envelope);  // another completion came first
    return;
  }
  broker_.Close(process, slot, lane_);
  lane_.Count(&Counters::completions);
  envelope->type = ACTORD_EVENT_COMPLETION;
  batch_[turn.count++] = envelope;
}

void Inbox::GiveBytes(Envelope& envelope) const {
  if (envelope.charged == Owner::kNobody) return;
  const uint64_t units =
      envelope.type == kEventChain ? UnitsOf(envelope) : envelope.units();
  processes_.mailbox_bytes_of().Give(
      std::exchange(envelope.charged, Owner::kNobody),
      units * kBufferUnitBytes);
}

bool Inbox::IsTaken(const Process& process, Turn& turn, Envelope* envelope) {
  GiveBytes(*envelope);
  if (envelope->type == ACTORD_EVENT_MESSAGE) return true;
  if (envelope->type == kEventChain) {
    TakeChain(process, turn, envelope);
    return false;
  }
  if (envelope->type == kEventTraced) {
    TakeTraced(process, turn, envelope);
    return false;
  }
  if (envelope->type == kEventKeptExit) {
    // The former life has taken it already.
    envelope->type = ACTORD_EVENT_EXIT;
    return true;
  }
  if (envelope->type != ACTORD_EVENT_EXIT ||
      envelope->generation != turn.generation ||
      ties_.TakeExit(processes_.PidOf(process, turn.generation), *envelope)) {
    return true;
  }
  turn.Took(1, envelope->units());
  lane_.Free(envelope);
  return false;
}

void Inbox::TakeTraced(const Process& process, Turn& turn, Envelope* envelope) {
  if (envelope->generation != turn.generation) [[unlikely]] {
    DropMessages(process, turn, envelope);
    return;
  }
  turn.Took(1, envelope->units());
  traces_.Note(TracedProcessOf(processes_.PidOf(process, turn.generation)),
               TraceOf(*envelope));
  batch_[turn.count++] = Unwrap(envelope, lane_);
}

void Inbox::NoteTraces(Process& process, const Turn& turn) {
  ACTORD_ASSERT(process.upgrading != nullptr,
                "inbox.h: the process has rare data");
  Upgrading& rare = *process.upgrading;
  if (rare.traces.empty() && !rare.due_trace) return;
  const TracedProcess self =
      TracedProcessOf(processes_.PidOf(process, turn.generation));
  size_t completions = 0;
  for (const Envelope* event = process.urgent_taken.head(); event != nullptr;
       event = process.urgent_taken.After(event)) {
    if ((event->type != ACTORD_EVENT_COMPLETION &&
         event->type != kEventTagCompletion) ||
        event->generation != turn.generation) {
      continue;
    }
    if (++completions > kBatch) break;  // the others wait for another step
    const auto traced = rare.traces.find(event->completion.tag);
    if (traced == rare.traces.end()) continue;
    traces_.Note(self, std::move(traced->second));
    rare.traces.erase(traced);
  }
  if (rare.due_trace && process.step_due) {
    traces_.NoteDue(self, *std::move(rare.due_trace));
    rare.due_trace.reset();
  }
}

void Inbox::KeepTraces(Process& process, const Turn& turn) {
  ACTORD_ASSERT(process.upgrading != nullptr,
                "inbox.h: the process has rare data");
  const TracedProcess self =
      TracedProcessOf(processes_.PidOf(process, turn.generation));
  const TraceContext* const current = StepTrace::Of(self);
  Upgrading& rare = *process.upgrading;
  for (auto& [tag, trace] : traces_.TakeYields(self)) {
    rare.traces.emplace(tag, std::move(trace));
  }
  rare.due_trace.reset();
  if (process.step_due && current != nullptr) rare.due_trace = *current;
  // The next turn of a durable process looks here. The next turn of a volatile
  // process does so only if another thread has completed a yield.
  if (process.is_durable()) return;
  EnvelopeList notes;
  const auto note = [&](const TraceContext& trace, bool is_due) {
    notes.PushBack(NewTraceNote(trace, turn.generation, is_due, lane_));
  };
  if (rare.due_trace) note(*rare.due_trace, /*is_due=*/true);
  rare.due_trace.reset();
  bool is_noted = false;
  size_t completions = 0;
  for (const Envelope* event = process.urgent_taken.head(); event != nullptr;
       event = process.urgent_taken.After(event)) {
    if (event->type != ACTORD_EVENT_COMPLETION) continue;
    if (++completions > kBatch) break;
    const auto traced = rare.traces.find(event->completion.tag);
    if (traced == rare.traces.end()) continue;
    if (!std::exchange(is_noted, true)) note(traced->second, /*is_due=*/false);
    rare.traces.erase(traced);
  }
  if (notes.empty()) return;
  while (Envelope* const event = process.urgent_taken.PopFront()) {
    notes.PushBack(event);
  }
  process.urgent_taken = notes;
}

void Inbox::ForgetTraces(Process& process, const Turn& turn,
                         absl::FunctionRef<bool(uint64_t tag)> is_forgotten) {
  // Only a life that ends now leaves yields here, and all of them end with it.
  traces_.TakeYields(
      TracedProcessOf(processes_.PidOf(process, turn.generation)));
  if (process.upgrading == nullptr) return;
  absl::erase_if(process.upgrading->traces, [&](const auto& traced) {
    return is_forgotten(traced.first);
  });
}

void Inbox::TakeChain(const Process& process, Turn& turn, Envelope* chain) {
  if (chain->generation != turn.generation) [[unlikely]] {
    DropMessages(process, turn, chain);
    return;
  }
  const std::span<Envelope*> messages = MessagesOf(*chain);
  turn.Took(messages.size(), UnitsOf(*chain));
  for (Envelope* message : messages) {
    PrefetchForRead(message);
    batch_[turn.count++] = message;
  }
  Envelope::Destroy(lane_.buffers(), chain);
}

void Inbox::DropFenced(Process& process, Turn& turn) {
  ACTORD_ASSERT(process.upgrading != nullptr,
                "inbox.h: the process has data about upgrades");
  DropCompletions(process, turn, [&process](uint64_t tag) {
    return process.upgrading->fenced.erase(tag) != 0;
  });
  NoteTraces(process, turn);
  Upgrading::Tidy(process);
}

void Inbox::DropCompletions(Process& process, Turn& turn,
                            absl::FunctionRef<bool(uint64_t tag)> is_dropped) {
  EnvelopeList taken = std::exchange(process.urgent_taken, {});
  while (Envelope* const envelope = taken.PopFront()) {
    if (envelope->type != ACTORD_EVENT_COMPLETION ||
        envelope->generation != turn.generation ||
        !is_dropped(envelope->completion.tag)) {
      process.urgent_taken.PushBack(envelope);
      continue;
    }
    ++turn.dropped;
    Uncharge(process, *envelope);
    if (envelope->completion.yield_slot != kNoYieldSlot) {
      broker_.Close(process, envelope->completion.yield_slot, lane_);
    }
    lane_.Free(envelope);
  }
}

namespace {

// Takes all messages out of the mailbox. Those that `sort` returns are in hand
// afterwards, in their order; null: it has used the message up.
template <typename Sort>
void KeepInHand(Process& process, Sort sort) {
  Envelope* first = nullptr;
  Envelope* last = nullptr;
  process.TakeMessages([&](Envelope* envelope) {
    envelope = sort(envelope);
    if (envelope == nullptr) return true;
    envelope->SetNext(nullptr);
    if (last == nullptr) {
      first = envelope;
    } else {
      last->SetNext(envelope);
    }
    last = envelope;
    return true;
  });
  process.in_hand = first;
}

}  // namespace

void Inbox::TakeCalls(Process& process, Turn& turn,
                      absl::FunctionRef<void(Envelope*)> use) {
  KeepInHand(process, [&](Envelope* envelope) -> Envelope* {
    const bool is_traced = envelope->type == kEventTraced;
    if ((is_traced ? InnerTypeOf(*envelope) : envelope->type) == kEventCall &&
        envelope->generation == turn.generation) {
      GiveBytes(*envelope);
      turn.Took(1, envelope->units());
      use(is_traced ? Unwrap(envelope, lane_) : envelope);
      return nullptr;
    }
    return envelope;
  });
}

void Inbox::UnwrapMessages(Process& process, Turn& turn,
                           absl::FunctionRef<void(const Envelope&)> see) {
  KeepInHand(process, [&](Envelope* envelope) -> Envelope* {
    if (envelope->generation == turn.generation) {
      if (envelope->type == kEventTraced) {
        // The owner and the mailbox are charged for the envelope around it.
        GiveBytes(*envelope);
        turn.Took(0, envelope->units());
        envelope = Unwrap(envelope, lane_);
        turn.units -= envelope->units();
      }
      if (envelope->type == ACTORD_EVENT_MESSAGE) {
        see(*envelope);
      } else if (envelope->type == kEventChain) {
        for (const Envelope* const message : MessagesOf(*envelope)) {
          if (message->type == ACTORD_EVENT_MESSAGE) see(*message);
        }
      }
    }
    return envelope;
  });
}

void Inbox::EmptyRest(Process& process, Turn& turn) {
  DropUrgent(process);
  TakeUrgent(process, turn);
  DropUrgent(process);
  while (true) {
    process.TakeMessages([&](Envelope* envelope) {
      DropMessages(process, turn, envelope);
      return true;
    });
    // The sender of a call checks for the end after its delivery
    // (Delivery::Post). So a call that is delivered after this check fails in
    // its sender. A call that was delivered before this check must not stay
    // behind a gap, which its producer closes within a few instructions.
    if (process.messages.IsEmpty()) return;
    YieldThread();
  }
}

void Inbox::DropUrgent(Process& process) {
  while (Envelope* const envelope = PopUrgent(process)) {
    if (!IsUnseen(*envelope)) {
      lane_.Free(envelope);
      continue;
    }
    // A former life has handed it on, and no step has got it.
    undelivered_.Drop(envelope, processes_.PidOf(process, envelope->generation),
                      DeadLetterReason::kDroppedAtEnd,
                      process.owner.load(std::memory_order_relaxed), lane_);
  }
}

void Inbox::DropMessages(const Process& process, Turn& turn,
                         Envelope* envelope) {
  GiveBytes(*envelope);
  const Pid to = processes_.PidOf(process, envelope->generation);
  // The owner of a process that was here before is not known any more.
  const Owner owner = envelope->generation == turn.generation
                          ? process.owner.load(std::memory_order_relaxed)
                          : Owner::kNobody;
  if (envelope->type != kEventChain) {
    turn.Took(1, envelope->units());
    undelivered_.Drop(envelope, to, DeadLetterReason::kDroppedAtEnd, owner,
                      lane_);
    return;
  }
  const std::span<Envelope*> messages = MessagesOf(*envelope);
  turn.Took(messages.size(), UnitsOf(*envelope));
  for (Envelope* message : messages) {
    undelivered_.Drop(message, to, DeadLetterReason::kDroppedAtEnd, owner,
                      lane_);
  }
  lane_.Free(envelope);
}

}  // namespace actord::runtime
