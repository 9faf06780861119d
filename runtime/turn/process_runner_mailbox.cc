// What a turn takes out of the mailbox: completions and orders to end first,
// then messages, until the batch of a step is full.
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runtime/process/chain.h"
#include "runtime/system/processor.h"
#include "runtime/turn/process_runner.h"

namespace actord::runtime {

void ProcessRunner::TakeUrgent(Process& process, Turn& turn) {
  if (Activity::Urgent(turn.word) != 0) {
    process.urgent.TakeAll(process.urgent_taken);
    if (process.upgrading != nullptr) [[unlikely]] {
      DropFenced(process, turn);
    }
  }
}

void ProcessRunner::Uncharge(Process& process, const Envelope& completion) {
  if (completion.completion.yield_slot == kNoYieldSlot) --process.replies;
  if (const uint32_t charge = YieldBroker::ChargeOf(completion)) {
    process.completion_units.fetch_sub(charge, std::memory_order_relaxed);
  }
}

Envelope* ProcessRunner::PopUrgent(Process& process) {
  Envelope* envelope = process.urgent_taken.PopFront();
  if (envelope != nullptr && envelope->type == ACTORD_EVENT_COMPLETION) {
    Uncharge(process, *envelope);
  }
  return envelope;
}

bool ProcessRunner::FillFromUrgent(Process& process, Turn& turn) {
  while (turn.count < kBatch) {
    Envelope* envelope = PopUrgent(process);
    if (envelope == nullptr) break;
    if (envelope->generation != turn.generation) {
      lane_.Free(envelope);  // for a process that was here before
      continue;
    }
    const uint16_t type = envelope->type;
    if (type == ACTORD_EVENT_COMPLETION) {
      if (envelope->completion.yield_slot != kNoYieldSlot) {
        parts_.broker.Close(process, envelope->completion.yield_slot, lane_);
      }
      batch_[turn.count++] = envelope;
      continue;
    }
    if (type == kEventUpgrade) {
      lane_.Free(envelope);  // this turn has looked
      continue;
    }
    if (type == kEventLinkedEnd) {
      std::optional<std::string> why = parts_.ties.TakeLinkedEnd(
          parts_.processes.PidOf(process, turn.generation), *envelope);
      lane_.Free(envelope);
      if (!why) continue;
      End(process, turn,
          {EndKind::kFailed, absl::StatusCode::kAborted, *std::move(why)});
      return false;
    }
    // A cancel or a terminate; asking again changes nothing.
    const bool again =
        type == ACTORD_EVENT_CANCEL && std::exchange(process.cancel_seen, true);
    const bool handles =
        (process.type.load(std::memory_order_relaxed)->descriptor->flags &
         ACTORD_TYPE_HANDLES_CANCEL) != 0;
    if (again) {
      lane_.Free(envelope);
    } else if (type == ACTORD_EVENT_CANCEL && handles) {
      process.cancel_requested.store(true, std::memory_order_relaxed);
      batch_[turn.count++] = envelope;
    } else {
      std::string reason(View(envelope->payload().bytes));
      lane_.Free(envelope);
      if (type == kEventLifetimeEnd) {
        lane_.Count(&Counters::ended_by_lifetime);
        End(process, turn,
            {EndKind::kLimit, absl::StatusCode::kResourceExhausted,
             std::move(reason)});
        return false;
      }
      const bool forced = type == kEventTerminate;
      End(process, turn,
          {forced ? EndKind::kTerminated : EndKind::kCancelled,
           forced ? absl::StatusCode::kAborted : absl::StatusCode::kCancelled,
           std::move(reason)});
      return false;
    }
  }
  return true;
}

void ProcessRunner::FillFromMessages(Process& process, Turn& turn) {
  if (turn.count >= kBatch || Activity::Messages(turn.word) == 0) return;
  process.TakeMessages([&](Envelope* envelope) {
    TakeMessage(process, turn, envelope);
    return turn.count < kBatch;
  });
}

void ProcessRunner::TakeMessage(const Process& process, Turn& turn,
                                Envelope* envelope) {
  if (envelope->type != ACTORD_EVENT_MESSAGE &&
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

bool ProcessRunner::IsTaken(const Process& process, Turn& turn,
                            Envelope* envelope) {
  if (envelope->type == kEventChain) {
    TakeChain(process, turn, envelope);
    return false;
  }
  if (envelope->type != ACTORD_EVENT_EXIT ||
      envelope->generation != turn.generation ||
      parts_.ties.TakeExit(parts_.processes.PidOf(process, turn.generation),
                           *envelope)) {
    return true;
  }
  turn.Took(1, envelope->units());
  lane_.Free(envelope);
  return false;
}

void ProcessRunner::TakeChain(const Process& process, Turn& turn,
                              Envelope* chain) {
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

}  // namespace actord::runtime
