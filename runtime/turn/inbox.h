// Takes the events of a turn out of the mailbox: first completions and orders
// to end, then messages, until the batch of a step is full.
//
// Thread-safety: belongs to one thread that runs turns. Ownership: owns the
// envelopes of its batch.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "absl/functional/function_ref.h"
#include "runtime/actors/ties.h"
#include "runtime/effects/undelivered.h"
#include "runtime/process/outcome.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/table/process_table.h"
#include "runtime/tracing/turn_traces.h"
#include "runtime/turn/turn.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Inbox {
 public:
  static constexpr size_t kBatch = SchedulerPolicy::kEventsPerStep;
  // The limit that actord/abi.h states.
  static constexpr size_t kMaxEvents = kBatch + Activity::kMaxChain - 1;

  Inbox(const ProcessTable& processes, YieldBroker& broker, Ties& ties,
        const Undelivered& undelivered, TurnTraces& traces, Lane& lane)
      : processes_(processes),
        broker_(broker),
        ties_(ties),
        undelivered_(undelivered),
        traces_(traces),
        lane_(lane) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Moves the urgent events that the activity word counts into `urgent_taken`.
  void TakeUrgent(Process& process, Turn& turn) {
    if (Activity::Urgent(turn.word) != 0) {
      process.urgent.TakeAll(process.urgent_taken);
      if (process.upgrading != nullptr) [[unlikely]] {
        DropFenced(process, turn);
      }
    }
  }
  // Notes the traces of the completions in `urgent_taken` and of a step that is
  // due, for the step that gets them. Precondition: `upgrading`.
  [[gnu::noinline]] void NoteTraces(Process& process, const Turn& turn);
  // After the steps of a turn: keeps the traces of outstanding yields, of
  // completions in `urgent_taken`, and of a step that is due. Precondition:
  // `upgrading`.
  [[gnu::noinline]] void KeepTraces(Process& process, const Turn& turn);
  // Forgets the traces of the yields of a former life or version, whose
  // completions no step gets.
  void ForgetTraces(Process& process, const Turn& turn,
                    absl::FunctionRef<bool(uint64_t tag)> is_forgotten);
  // Fills the batch from `urgent_taken`. False: an event ends the process, and
  // TakeEndCause returns the reason.
  [[nodiscard]] bool FillFromUrgent(Process& process, Turn& turn);
  // Whether a former life of the process has handed on the event.
  // (continuing.h). Precondition: it is in `urgent_taken`. Not asserted: a
  // search of the list would cost more than the turn.
  static bool IsUnseen(const Envelope& event) {
    return event.type == ACTORD_EVENT_MESSAGE || event.type == kEventKeptExit ||
           event.type == kEventKeptCall;
  }
  // Takes the next event out of `urgent_taken` and uncharges it; null: there is
  // none.
  static Envelope* PopUrgent(Process& process);
  EndCause TakeEndCause() { return std::exchange(end_cause_, {}); }
  // (Inlined: see StepCaller::Step.)
  [[gnu::always_inline]] void FillFromMessages(Process& process, Turn& turn);
  [[nodiscard]] std::span<Envelope* const> batch(const Turn& turn) const {
    return {batch_.data(), turn.count};
  }
  void FreeBatch(Turn& turn) {
    if (turn.count == 1) [[likely]] {
      Envelope::Destroy(lane_.buffers(), batch_[0]);
    } else if (turn.count != 0) {
      FreeEnvelopes(batch(turn));
    }
    turn.count = 0;
  }

  // Passes the messages in the mailbox that are not in the journal, in their
  // order, to `see`. All of them stay, without their traces, which a process
  // that ends does not need.
  void UnwrapMessages(Process& process, Turn& turn,
                      absl::FunctionRef<void(const Envelope&)> see);
  // Takes the calls of callers that are not durable processes out of the
  // mailbox, and passes them with their ownership to `use`. All other messages
  // stay, in their order.
  void TakeCalls(Process& process, Turn& turn,
                 absl::FunctionRef<void(Envelope*)> use);
  // Drops the completions in `urgent_taken` for which `is_dropped` returns
  // true.
  void DropCompletions(Process& process, Turn& turn,
                       absl::FunctionRef<bool(uint64_t tag)> is_dropped);
  // Turns the remaining messages into dead letters. Precondition: the process
  // has ended and cannot be found any more.
  void Empty(Process& process, Turn& turn) {
    ACTORD_ASSERT_HOT(!process.IsStill(turn.generation),
                      "inbox.h: the process has ended");
    // A later event comes from a sender that found the process just before its
    // end. The next process of this slot drops the event, or the end of the
    // runtime does.
    turn.word = process.activity.load(std::memory_order_acquire);
    if (Activity::Urgent(turn.word) != 0 || !process.urgent_taken.empty() ||
        process.in_hand != nullptr || !process.messages.IsEmpty())
        [[unlikely]] {
      EmptyRest(process, turn);
    }
  }

 private:
  // (Not inlined: few processes end with events left.)
  [[gnu::noinline]] void EmptyRest(Process& process, Turn& turn);
  // Moves the handed-on messages of the batch back to `urgent_taken`, because
  // an order ends the process before the step that would have got them.
  void GiveBackUnseen(Process& process, Turn& turn);
  // Empties `urgent_taken`.
  void DropUrgent(Process& process);
  // (Not inlined: the loop would cost a step of one event registers.)
  [[gnu::noinline]] void FreeEnvelopes(std::span<Envelope* const> envelopes);
  // Takes the completion out of the counts of waiting completions.
  static void Uncharge(Process& process, const Envelope& completion);
  // Takes an order to end, the end of a linked process, unless the link has
  // been removed, or an event that a former life of the process has handed on.
  // False: the process ends.
  [[nodiscard]] bool TakeOrder(Process& process, Turn& turn,
                               Envelope* envelope);
  // Takes a completion that names its yield by its tag. Nothing is taken if the
  // yield has ended.
  void TakeTagCompletion(Process& process, Turn& turn, Envelope* envelope);
  // Drops the fenced completions in `urgent_taken`. Precondition: `upgrading`.
  [[gnu::noinline]] void DropFenced(Process& process, Turn& turn);
  // Moves a message, or a chain of messages, into the batch.
  [[gnu::always_inline]] void TakeMessage(const Process& process, Turn& turn,
                                          Envelope* envelope);
  // Gives the bytes of a message, or a chain, back to the owner that is charged
  // for them.
  void GiveBytes(Envelope& envelope) const;
  // For envelopes that are not plain messages, or are charged. False: nothing
  // is left to take, because the envelope was a chain, or an exit whose monitor
  // or link was removed.
  [[gnu::noinline]] bool IsTaken(const Process& process, Turn& turn,
                                 Envelope* envelope);
  // Unwraps an event with a trace, and moves it into the batch.
  void TakeTraced(const Process& process, Turn& turn, Envelope* envelope);
  [[gnu::noinline]] void TakeChain(const Process& process, Turn& turn,
                                   Envelope* chain);
  // Drops a message, or a chain of messages, that a turn took and whose
  // generation is that of a process that has ended.
  void DropMessages(const Process& process, Turn& turn, Envelope* envelope);

  const ProcessTable& processes_;
  YieldBroker& broker_;
  Ties& ties_;
  const Undelivered& undelivered_;
  TurnTraces& traces_;
  Lane& lane_;
  EndCause end_cause_;
  std::array<Envelope*, kMaxEvents> batch_;
};

inline void Inbox::TakeMessage(const Process& process, Turn& turn,
                               Envelope* envelope) {
  if ((envelope->type != ACTORD_EVENT_MESSAGE ||
       envelope->charged != Owner::kNobody) &&
      !IsTaken(process, turn, envelope)) {
    return;
  }
  if (envelope->generation == turn.generation) [[likely]] {
    turn.Took(1, envelope->units());
    batch_[turn.count++] = envelope;
  } else {
    DropMessages(process, turn, envelope);
  }
}

inline void Inbox::FillFromMessages(Process& process, Turn& turn) {
  if (turn.count >= kBatch || Activity::Messages(turn.word) == 0) return;
  // (Inlined: otherwise each turn writes the captures to the stack.)
  process.TakeMessages([&](Envelope * envelope) __attribute__((always_inline)) {
    TakeMessage(process, turn, envelope);
    return turn.count < kBatch;
  });
}

}  // namespace actord::runtime
