// When a process sees an order to end, and what the order does:
//
//   order                   posted by              effect
//   cancel                  Delivery::Control; in  the first: an event of the
//                           a shutdown Beginning   step if the type handles
//                                                  cancels, else the end; a
//                                                  further one: nothing
//   terminate               Delivery::Control      the end
//   end of the lifetime,    Lifetimes              the end
//   deadline of a cancel
//   end of a linked         Ties                   the end; nothing if the link
//   process                                        has been removed
//
// These orders are urgent: the next turn takes them, in order with completions
// and before all messages. A step is not interrupted, and the further steps of
// a running turn do not see an order that comes in the meantime. Only after
// Init does the turn of a volatile process read its word again
// (process_runner.cc); a durable process sees such an order after its first
// step. An order behind
// kBatch completions waits for the step after these completions. A process that
// ends by an order takes no further step.
#include <optional>
#include <string>
#include <utility>

#include "handlers/rules/process_rules.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/turn/inbox.h"

namespace actord::runtime {

static_assert(Inbox::kMaxEvents == rules::kMaxStepEvents);

bool Inbox::TakeOrder(Process& process, Turn& turn, Envelope* envelope) {
  const uint16_t type = envelope->type;
  if (type == kEventTraceNote) {
    const TracedProcess self =
        TracedProcessOf(processes_.PidOf(process, turn.generation));
    if (IsDueNote(*envelope)) {
      traces_.NoteDue(self, TraceOf(*envelope));
    } else {
      traces_.Note(self, TraceOf(*envelope));
    }
    lane_.Free(envelope);
    return true;
  }
  if (IsUnseen(*envelope)) {
    // All of them are events of one step, the first one of a life.
    for (Envelope* unseen = envelope; unseen != nullptr;) {
      if (unseen->type == kEventKeptExit) unseen->type = ACTORD_EVENT_EXIT;
      batch_[turn.count++] = unseen;
      const Envelope* const next = process.urgent_taken.head();
      unseen = turn.count < kMaxEvents && next != nullptr && IsUnseen(*next)
                   ? process.urgent_taken.PopFront()
                   : nullptr;
    }
    return true;
  }
  if (type == kEventLinkedEnd) {
    std::optional<std::string> why = ties_.TakeLinkedEnd(
        processes_.PidOf(process, turn.generation), *envelope);
    lane_.Free(envelope);
    if (!why) return true;
    end_cause_ = {EndKind::kFailed, absl::StatusCode::kAborted,
                  *std::move(why)};
    return false;
  }
  // The envelope is a cancel, a terminate or the end of the lifetime. A second
  // cancel changes nothing.
  const bool again =
      type == ACTORD_EVENT_CANCEL && std::exchange(process.cancel_seen, true);
  if (type == ACTORD_EVENT_CANCEL) {
    const ProcessType& of = *process.type.load(std::memory_order_relaxed);
    switch (rules::CancelOf(*of.descriptor, again)) {
      case rules::Cancel::kIgnored:
        lane_.Free(envelope);
        return true;
      case rules::Cancel::kIsSeen:
        process.cancel_requested.store(true, std::memory_order_relaxed);
        batch_[turn.count++] = envelope;
        return true;
      case rules::Cancel::kEnds:
        break;
    }
  }
  std::string reason(View(envelope->payload().bytes));
  lane_.Free(envelope);
  if (type == kEventLifetimeEnd) {
    lane_.Count(&Counters::ended_by_lifetime);
    end_cause_ = {EndKind::kLimit, absl::StatusCode::kResourceExhausted,
                  std::move(reason)};
  } else if (type == kEventTerminate) {
    end_cause_ = {EndKind::kTerminated, absl::StatusCode::kAborted,
                  std::move(reason)};
  } else {
    end_cause_ = {EndKind::kCancelled, absl::StatusCode::kCancelled,
                  std::move(reason)};
  }
  return false;
}

}  // namespace actord::runtime
