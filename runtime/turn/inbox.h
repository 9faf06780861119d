// What a turn takes out of its process's mailbox: completions and orders to end
// first, then messages, until the batch of a step is full.
//
// Thread-safety: belongs to one thread that runs turns. Ownership: owns the
// envelopes of its batch.
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
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/turn/turn.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Inbox {
 public:
  static constexpr size_t kBatch = SchedulerPolicy::kEventsPerStep;
  // As actord/abi.h says.
  static constexpr size_t kMaxEvents = kBatch + Activity::kMaxChain - 1;

  Inbox(const ProcessTable& processes, YieldBroker& broker, Ties& ties,
        const Undelivered& undelivered, Lane& lane)
      : processes_(processes),
        broker_(broker),
        ties_(ties),
        undelivered_(undelivered),
        lane_(lane) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Moves the urgent events that the word counts into `urgent_taken`.
  void TakeUrgent(Process& process, Turn& turn) {
    if (Activity::Urgent(turn.word) != 0) {
      process.urgent.TakeAll(process.urgent_taken);
      if (process.upgrading != nullptr) [[unlikely]] {
        DropFenced(process, turn);
      }
    }
  }
  // Fills the batch from `urgent_taken`. False: an event ends the process, for
  // the reason that TakeEndCause returns.
  [[nodiscard]] bool FillFromUrgent(Process& process, Turn& turn);
  EndCause TakeEndCause() { return std::exchange(end_cause_, {}); }
  void FillFromMessages(Process& process, Turn& turn);
  [[nodiscard]] std::span<Envelope* const> batch(const Turn& turn) const {
    return {batch_.data(), turn.count};
  }
  void FreeBatch(Turn& turn) {
    BufferCache& buffers = lane_.buffers();
    for (size_t i = 0; i < turn.count; ++i) {
      Envelope::Destroy(buffers, batch_[i]);
    }
    turn.count = 0;
  }

  // Drops the completions among those taken for which `is_dropped` says so.
  void DropCompletions(Process& process, Turn& turn,
                       absl::FunctionRef<bool(uint64_t tag)> is_dropped);
  // The process has ended and is not found any more: what is left becomes dead
  // letters.
  void Empty(Process& process, Turn& turn);

 private:
  // It is not among those that wait any more.
  static void Uncharge(Process& process, const Envelope& completion);
  // The next of those taken, no longer charged; null: none.
  static Envelope* PopUrgent(Process& process);
  // An order to end, or news that ends the process unless it was given up.
  // False: the process ends.
  [[nodiscard]] bool TakeOrder(Process& process, Turn& turn,
                               Envelope* envelope);
  // Of those taken. Precondition: `upgrading`.
  [[gnu::noinline]] void DropFenced(Process& process, Turn& turn);
  // A message, or a chain of them, to the batch.
  void TakeMessage(const Process& process, Turn& turn, Envelope* envelope);
  // Of what is no plain message. False: nothing of it is left to be taken, as
  // it was a chain, or an exit whose watch was given up.
  [[gnu::noinline]] bool IsTaken(const Process& process, Turn& turn,
                                 Envelope* envelope);
  [[gnu::noinline]] void TakeChain(const Process& process, Turn& turn,
                                   Envelope* chain);
  // A message, or a chain of them, that a turn took and that is of a process
  // which ended, whose generation it has.
  void DropMessages(const Process& process, Turn& turn, Envelope* envelope);

  const ProcessTable& processes_;
  YieldBroker& broker_;
  Ties& ties_;
  const Undelivered& undelivered_;
  Lane& lane_;
  EndCause end_cause_;
  std::array<Envelope*, kMaxEvents> batch_;
};

}  // namespace actord::runtime
