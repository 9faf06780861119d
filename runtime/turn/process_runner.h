// Runs one turn of one process: Init if it has not been, drain the mailbox,
// Step, carry out what the step wants, and what becomes of it then.
//
// A call into a plugin may cost the thread its worker (hold.h); from then on
// this goes on without one, and what becomes ready goes to the global queue.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "runtime/actors/dead_letters.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/inbox/delivery.h"
#include "runtime/scheduler/blocking_calls.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/settings/options.h"
#include "runtime/step/foreign.h"
#include "runtime/step/step_context.h"
#include "runtime/step/turn_input.h"
#include "runtime/turn/ending.h"
#include "runtime/yields/lifetimes.h"

namespace actord::runtime {

struct YieldAdoption;  // upgrading.h

// What a shutdown wants of the turns. Written by the shutdown, read at the
// begin of each turn; relaxed: whoever reads it late is sent an event as well.
struct ShutdownOrders {
  std::atomic<bool> cancel{false};     // processes that begin are cancelled
  std::atomic<bool> terminate{false};  // processes end, wherever they are
};

class ProcessRunner {
 public:
  struct Parts {
    ProcessTable& processes;
    Scheduler& scheduler;
    Delivery& delivery;
    Dispatcher& dispatcher;
    YieldBroker& broker;
    Results& results;
    Calls& calls;
    Ties& ties;
    DeadLetters& dead_letters;
    LifecycleLog& lifecycle_log;
    Lifetimes& lifetimes;
    const LiveLimits& limits;
    Names& names;
    Groups& groups;
    const Clock& clock;
    const ShutdownOrders& orders;
    // Null: no record is kept.
    StepSink* step_sink;
    const std::function<void(LogLevel, std::string_view)>& log;
    // Called after each end while a shutdown is on.
    const std::function<void()>& on_end;
    // For steps that are known to block.
    BlockingCalls* blocking_calls = nullptr;
  };

  ProcessRunner(const Parts& parts, Lane& lane, StepContext& context);
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  // Precondition: the caller took `process` out of a queue.
  void RunTurn(Process& process);

  Lane& lane() { return lane_; }

 private:
  static constexpr size_t kBatch = SchedulerPolicy::kEventsPerStep;
  // As actord/abi.h says.
  static constexpr size_t kMaxEvents = kBatch + Activity::kMaxChain - 1;

  // What one turn has taken from the process, to be given back to the word at
  // its end (activity.h, (2)).
  struct Turn {
    uint64_t word;  // as the turn found it
    uint32_t generation;
    uint64_t messages_taken = 0;
    uint64_t units = 0;  // of the messages that were taken
    size_t count = 0;    // envelopes in batch_
    size_t dropped = 0;  // completions that no step is given

    void Took(uint64_t messages, uint64_t of_units) {
      messages_taken += messages;
      units += of_units;
    }
  };

  // Whether it has ended as the shutdown wants it.
  bool EndIfOrdered(Process& process, Turn& turn) {
    if (!parts_.orders.terminate.load(std::memory_order_relaxed)) [[likely]] {
      return false;
    }
    End(process, turn,
        {EndKind::kTerminated, absl::StatusCode::kAborted,
         "the daemon is shutting down"});
    return true;
  }
  // Calls Init. False: the process has ended.
  bool Admit(Process& process, Turn& turn);
  // `admitted`: who wants to know; may be null.
  bool CallInit(Process& process, Turn& turn, Admitted* admitted);
  void FreeInput(Process& process) {
    if (process.input == nullptr) return;
    lane_.Free(std::exchange(process.input, nullptr));
  }
  // After `steps` in this turn: whether there is one more.
  [[nodiscard]] bool GoesOn(const Process& process, int32_t verdict,
                            int steps) const;

  // In process_runner_mailbox.cc.
  // It is not among those that wait any more.
  static void Uncharge(Process& process, const Envelope& completion);
  // The next of those taken, no longer charged; null: none.
  static Envelope* PopUrgent(Process& process);
  void TakeUrgent(Process& process, Turn& turn);
  // False: a cancel or terminate ended the process.
  bool FillFromUrgent(Process& process, Turn& turn);
  void FillFromMessages(Process& process, Turn& turn);
  // The turn has found none of those that are counted: their sender is just
  // about to push them, and if the machine keeps it from that, this thread does
  // not stand in its way: at once if it has nothing else to do that goes
  // before, otherwise every so many times.
  [[gnu::noinline]] void LetSenderGoOn(const Process& process);
  // A message, or a chain of them, to the batch.
  void TakeMessage(const Process& process, Turn& turn, Envelope* envelope);
  // Of what is no plain message. False: nothing of it is left to be taken, as
  // it was a chain, or an exit whose watch was given up.
  [[gnu::noinline]] bool IsTaken(const Process& process, Turn& turn,
                                 Envelope* envelope);
  [[gnu::noinline]] void TakeChain(const Process& process, Turn& turn,
                                   Envelope* chain);

  // Lets another thread have the worker while a call of a type that says of
  // itself that it blocks lasts.
  void GiveWorkerAwayIfBlocking(const actord_process_type& descriptor);
  // What RunStep returns when the process has ended.
  static constexpr int32_t kHasEnded = -1;
  // Returns ACTORD_STEP_IDLE, _BLOCK or _CONTINUE, or kHasEnded. (No optional:
  // its two parts, written apart and read as one, stall the processor.)
  int32_t RunStep(Process& process, Turn& turn);
  // What all calls are given, for that of number `step`. What only the verdict
  // needs, which no call changes, is left to FillRest.
  void FillInput(const Process& process, const Turn& turn, uint64_t step) {
    input_.self = parts_.processes.PidOf(process, turn.generation);
    input_.parent = &process.parent;
    input_.step = step;
    input_.next_tag = process.next_tag;
    input_.max_steps = parts_.limits.max_steps();
    input_.replies = process.replies;
  }
  [[gnu::noinline]] void FillRest(const Process& process);
  // The call itself, with the events of the batch. Apart: what an exception
  // needs keeps the rest out of registers.
  void CallStep(Process& process, Turn& turn);
  // `thrown`: by the call that has returned.
  void EndCall(const Process& process, const ProcessType& type,
               const Thrown& thrown) {
    if (thrown || record_.has_said || parts_.step_sink != nullptr)
        [[unlikely]] {
      KeepCall(process, type, thrown);
    }
  }
  // Counts what the call did wrong, and keeps its record.
  [[gnu::noinline]] void KeepCall(const Process& process,
                                  const ProcessType& type,
                                  const Thrown& thrown);
  void CountRefusedPayloads();
  // Of a step that did not simply end well: nothing of it happens, and the
  // process ends, if it failed.
  [[gnu::noinline]] bool EndIfFailed(Process& process, Turn& turn);
  // It is done, or has taken all the steps that it may.
  [[gnu::noinline]] void EndAfterStep(Process& process, Turn& turn);
  // The step failed: nothing of it happens. What its effects own goes back.
  void Rollback();
  void Commit(Process& process);
  // Carries out the sends from `first` on that go to the same process, and
  // returns what comes behind them. They are published at once, so that a burst
  // costs two RMWs at most.
  Effect* CommitSends(Effect* first, Effect* end);
  // Whatever is no send. Returns what comes behind it.
  [[gnu::noinline]] Effect* CommitOne(Process& process, Effect* effect,
                                      Effect* end);

  // In process_runner_effects.cc.
  // Messages to `to`, linked from `head` to `last`, or in a chain, that were
  // refused together: as many as there is room for.
  [[gnu::noinline]] void CommitOneByOne(const Pid& to, Envelope* head,
                                        Envelope* last);
  DeadLetterReason WhyUndelivered(Posted posted);
  // All that are spawned one after the other. Returns what comes behind them.
  Effect* StartChildren(Effect* first, Effect* end);
  // Together with the sends behind it that go to the child, which finds them in
  // hand; into children_. Returns what comes behind them.
  Effect* StartChild(SpawnEffect& spawn, Effect* next, Effect* end);
  void WatchChild(const SpawnEffect& spawn);
  void WriteOtherEvent(Process& process, const Envelope& envelope,
                       actord_event& event);
  void DropOther(Envelope* envelope, const Pid& to, DeadLetterReason why);

  void Finish(Process& process, Turn& turn, int32_t verdict);
  // No step in this turn: its yields would have room that the word has not,
  // which counts to the end of the turn what has been dropped.
  [[gnu::noinline]] void FinishWithoutStep(Process& process, Turn& turn);

  // In process_runner_end.cc, with EndIfFailed, EndAfterStep and Rollback.
  void End(Process& process, Turn& turn, EndCause&& cause);
  void CloseState(Process& process, const ProcessType& type, void* state);
  void DropMailbox(Process& process, Turn& turn);
  void FreeBatch(Turn& turn);
  // A message, or a chain of them, that a turn took and that is of a process
  // which ended, whose generation it has.
  void DropMessages(const Process& process, Turn& turn, Envelope* envelope);
  void Drop(Envelope* envelope, const Pid& to, DeadLetterReason why);

  // In process_runner_upgrade.cc.
  // The turn begins: goes on in `target`, unless it was asked before.
  void MayUpgrade(Process& process, Turn& turn, const ProcessType& target);
  // After steps: likewise, if it had put it off. Precondition: `upgrading`.
  void AskAgain(Process& process, Turn& turn);
  void Upgrade(Process& process, Turn& turn, const ProcessType& target);
  // False: there is none, and the process remembers that it was asked.
  bool TakeSnapshot(Process& process, const Turn& turn, const ProcessType& from,
                    const ProcessType& target, Payload& snapshot);
  // The new state; null: as TakeSnapshot.
  void* Restore(Process& process, const Turn& turn, const ProcessType& target,
                const actord_restore& restore, YieldAdoption& adoption);
  // What the call that has just ended says of itself.
  std::string WhyRefused(const std::string* thrown, int32_t status);
  // `why`: for the log; nullopt: not worth a line.
  void Decline(Process& process, const ProcessType& target,
               const std::optional<std::string>& why);
  // It is asked again after its next step.
  static void PutOff(Process& process, const ProcessType& target);
  static void ForgetAttempts(Process& process);
  static void ForgetUpgrading(Process& process);
  static void SetType(Process& process, const ProcessType& type,
                      uint16_t method);
  [[nodiscard]] YieldAdoption AdoptableYields(const Process& process) const;
  static size_t FencedYields(const Process& process);
  // Closes what was not adopted.
  void Fence(Process& process, Turn& turn, const YieldAdoption& adoption);
  // Of those taken. Precondition: `upgrading`.
  void DropFenced(Process& process, Turn& turn);
  // Of those taken.
  void DropCompletions(Process& process, Turn& turn,
                       absl::FunctionRef<bool(uint64_t tag)> is_dropped);

  const Parts parts_;
  Lane& lane_;
  StepContext& context_;
  StepRecord& record_;  // of context_
  Ending ending_;
  std::array<Envelope*, kMaxEvents> batch_;
  // What a step is given: event_pointers_[i] is always &events_[i].
  std::array<actord_event, kMaxEvents> events_;
  std::array<const actord_event*, kMaxEvents> event_pointers_;
  // Of a step: started, not enqueued yet.
  ReadyList children_;
  TurnInput input_;
  uint32_t turns_in_vain_ = 0;  // those that found nothing they were for
};

}  // namespace actord::runtime
