// The turn of a durable process:
//
//   restore   makes the state from the image, for a replay type from the
//             history; in the first turn after a restart
//   Init      appends STARTED with the image, for a replay type with the
//             answers that Init got. The submitter is told when the record is
//             durable.
//   step      appends STEP with the image, for a replay type with the answers
//             that the step got, before any effect of the step. Messages to
//             durable processes are sent at once. All other effects happen when
//             the record is durable.
//   again     appends STEP with the new input, before the next Init. The task
//             table is told of withdrawn tasks when the record is durable.
//   end       appends the record of the end. The process ends when the record
//             is durable, so an end that anybody has seen is never undone.
//
// Until the record of its end is durable, others still find the process, but it
// takes no step. While the daemon ends, durable processes take no turns: they
// go on after the next start. While the journal is behind, they are parked, so
// that no worker waits for the disk.
//
// After a restart the first turn also begins the yields again for which the
// process has no completion.
//
// A process whose state cannot be restored is in quarantine (quarantine.h): it
// keeps every event that comes, and takes no step until somebody asks for a new
// try.
//
// A process upgrades to a newer version of its type in the way that it would in
// a restart (durable_upgrade.h).
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable/letter_journal.h"
#include "runtime/durable/parked_processes.h"
#include "runtime/durable_turn/durable_upgrade.h"
#include "runtime/durable_turn/history_replay.h"
#include "runtime/durable_turn/state_images.h"
#include "runtime/effects/applier.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/effects/durable_applier.h"
#include "runtime/effects/durable_yields.h"
#include "runtime/effects/logged_sends.h"
#include "runtime/effects/undelivered.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/shutdown_orders.h"
#include "runtime/settings/limits.h"
#include "runtime/step/live_world.h"
#include "runtime/tasks/task_table.h"
#include "runtime/turn/beginning.h"
#include "runtime/turn/continuing.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/teardown.h"
#include "runtime/turn/turn.h"
#include "runtime/turn/turn_parts.h"
#include "runtime/turn/upgrader.h"
#include "runtime/yields/lifetimes.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class DurableTurn {
 public:
  // Return values of Run beside ACTORD_STEP_*.
  static constexpr int32_t kHasEnded = -1;
  // The process stays ready, and no thread runs it.
  static constexpr int32_t kIsFrozen = -2;

  // The parts that all threads share.
  struct Shared {
    const Catalog& catalog;
    DurableProcesses& durable;
    LetterJournal& letters;
    ParkedProcesses& parked;
    ProcessTable& processes;
    Scheduler& scheduler;
    Delivery& delivery;
    YieldBroker& broker;
    TaskTable& tasks;
    Dispatcher& dispatcher;
    Calls& calls;
    Ties& ties;
    Topics& topics;
    const ProcessLog& process_log;
    Lifetimes& lifetimes;
    LifecycleLog& lifecycle_log;
    const Undelivered& undelivered;
    const ShutdownOrders& orders;
    const LiveLimits& limits;
    const StepCaller::Log& log;
    Lane& lane;  // of threads that run no workers
  };
  // `world` and `parts`: the other classes of the turn; borrowed.
  DurableTurn(const Shared& shared, LiveWorld& world, TurnParts& parts,
              BlockingCalls& blocking_calls, Lane& lane);
  DurableTurn(const DurableTurn&) = delete;
  DurableTurn& operator=(const DurableTurn&) = delete;

  // Runs the turn of a durable process. The caller finishes the turn with the
  // verdict, unless kHasEnded or kIsFrozen is returned.
  int32_t Run(Process& process, Turn& turn);

 private:
  int32_t RunTurn(Process& process, Turn& turn);
  DurableProcesses& durable() { return shared_.durable; }

  // Parks the process if the journal is behind.
  bool IsParked(Process& process);
  // Takes the order to become dormant, if the order is the only event. Nullopt:
  // the process is not dormant, and the turn goes on.
  std::optional<int32_t> MayPassivate(Process& process, Turn& turn,
                                      DurableState& state);
  // Whether nothing but a message, or the completion of one of its `timers`,
  // can come for the process.
  [[nodiscard]] static bool WaitsForMessages(const Process& process,
                                             const Turn& turn,
                                             const DurableState& state,
                                             uint64_t timers);
  // Ends all timers of the process without completions, so that it can become
  // dormant. False: one is due; then the other timers go on. MayPassivate has
  // checked that all yields of the process are timers that the store has.
  bool EndTimers(Process& process, const Turn& turn, const Pid& pid);
  // The process has ended, and waits for its record.
  int32_t AwaitEnd(Process& process, Turn& turn, DurableState& state);

  // ---- durable_quarantine.cc

  // A new try of a process that was in quarantine.
  struct NewTry {
    bool blocked = false;  // the process goes on as a blocked one
    // Of the entry of the process; sequence 0: it was not in quarantine.
    uint64_t sequence = 0;
    uint64_t since_unix_ns = 0;
    std::vector<Quarantine::Retried> waiting;

    // Tells the callers in `waiting`.
    void Tell(const absl::Status& status);
  };
  // The turn of a process in quarantine. Nullopt: somebody has asked for a new
  // try, and the process has left the quarantine. Otherwise only a terminate
  // has an effect.
  std::optional<int32_t> Idle(Process& process, Turn& turn, DurableState& state,
                              NewTry& attempt);
  // Takes the process out of quarantine, if somebody has asked for a new try.
  // False: nobody has asked, or no plugin has a type that fits.
  bool Leave(Process& process, Turn& turn, DurableState& state,
             NewTry& attempt);
  // The process could not be restored.
  void EnterQuarantine(Process& process, Turn& turn, DurableState& state,
                       const absl::Status& why, NewTry& attempt);
  // Fails the calls that wait in the mailbox: quarantine.h, (1) and (2).
  void RefuseCalls(Process& process, Turn& turn, const absl::Status& why);

  // ---- durable_turn.cc

  absl::Status Restore(Process& process, const Turn& turn, DurableState& state);
  void Upgrade(Process& process, Turn& turn, DurableState& state,
               const ProcessType& target);
  // Upgrades the process after a step, if it has put an upgrade off.
  void UpgradeIfPutOff(Process& process, Turn& turn, DurableState& state);
  // Appends the record of an upgrade to `type`, if the store has another
  // version of the process, or if there is an `image`. Errors: those of Append.
  absl::Status NoteVersion(const Process& process, const Turn& turn,
                           DurableState& state, const ProcessType& type,
                           std::optional<std::string> image);
  // Calls Init. Nullopt: the process has begun.
  std::optional<int32_t> Begin(Process& process, Turn& turn,
                               DurableState& state);
  // Tells the log and the submitter that the process has begun, when its record
  // at `position` is durable. `admitted` may be null. `is_first`: the process
  // has not begun before.
  void TellOfStart(const Process& process, const Pid& pid, DurableState& state,
                   bool is_first, Admitted admitted, uint64_t position);
  int32_t Step(Process& process, Turn& turn, DurableState& state);
  // A query: a step of an image type that consumes calls from outside or from
  // volatile processes, changes no state and has no effect but the answers to
  // such calls. It has no record, and its answers wait for the records of that
  // moment, on which they rest. It counts among the steps only as long as the
  // process is in memory, because records of steps have consecutive numbers.
  //
  // Whether the step that comes may be a query, so that an image is to be taken
  // before it.
  bool MayBeQuery(const Process& process, const Turn& turn,
                  DurableState& state) const;
  std::optional<std::string> ImageBefore(Process& process, const Turn& turn,
                                         DurableState& state);
  // Whether the step was one. `before`, `after`: the images; empty: there is
  // none.
  bool IsQuery(const Process& process, DurableState& state,
               const std::optional<std::string>& before,
               const std::optional<std::string>& after) const;
  // Appends the record of the step. `ends`: the process ends with it. Errors:
  // those of Append.
  absl::StatusOr<uint64_t> AppendStep(Process& process, Turn& turn,
                                      DurableState& state,
                                      std::optional<std::string> image,
                                      bool ends);
  // Ends the life whose last step has the record at `position`. `first_unseen`:
  // the position of the first event that it hands on.
  int32_t BeginAgain(Process& process, Turn& turn, DurableState& state,
                     uint64_t position, uint64_t first_unseen);
  // The continuation of a process that begins again; nullopt: it does not.
  std::optional<records::Continued> ContinuedOf(const Process& process);
  // The calls that the process owes, and whose callers still wait.
  std::vector<uint64_t> OwedCallsOf(DurableState& state);
  static bool IsReplayed(const Process& process);
  // While an object of this class lives, the record keeps the answers that
  // calls of the plugin get.
  class Answers {
   public:
    explicit Answers(StepRecord& record)
        : record_(record), kept_(std::exchange(record.keeps_answers, true)) {}
    ~Answers() { record_.keeps_answers = kept_; }
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;

   private:
    StepRecord& record_;
    const bool kept_;
  };
  void CallInit(Process& process, const Turn& turn, const DurableState& state);
  // Whether the step has drawn random bits, whose seed is the step's number.
  bool CallStep(Process& process, const Turn& turn, const DurableState& state);
  // Takes the image for the record of the step, if an image is due. Returns why
  // the step fails; nullopt: it does not.
  std::optional<EndCause> TakeImage(Process& process, const Turn& turn,
                                    DurableState& state,
                                    std::optional<std::string>& image);
  // Gives the calls of the batch the ids that name them for the process.
  void NameCalls(const Turn& turn, DurableState& state);
  // Forgets the calls of callers that do not wait any more. Such callers are
  // outside, or volatile.
  void ForgetGivenUpCalls(DurableState& state);
  // After the step: writes the handles by which the process owes answers to the
  // calls that the step got, in place of the calls' ids.
  void OweCalls(Process& process, const Turn& turn, const DurableState& state);
  // Why the step fails; nullopt: it does not.
  std::optional<EndCause> FailureOfStep(const Process& process);
  // Valid until the next step of this thread.
  records::Step& RecordOfStep(const Process& process, const Turn& turn,
                              const DurableState& state,
                              std::optional<std::string> image);
  records::TurnImage TurnOf(const Process& process,
                            const DurableState& state) const;
  records::End EndOf(const EndCause& cause, const Payload& result) const;
  // Completes the process.spawn that waits for the Init of the process, with
  // the position of the record that says how Init ended.
  void CompleteSpawn(DurableState& state, int32_t status, std::string_view text,
                     uint64_t position);
  // Fails the calls in the journal that the process has not answered.
  void FailCalls(const Pid& self, const DurableState& state);
  // Writes the messages of volatile senders in the mailbox of a process that is
  // about to end into the journal.
  void LogMailbox(Process& process, Turn& turn, const DurableState& state);
  // The process ends when the record at `position` is durable; 0: the record is
  // appended first.
  int32_t BeginEnd(Process& process, Turn& turn, DurableState& state,
                   EndCause&& cause, uint64_t position);
  Pid PidOf(const Process& process, const Turn& turn) const;

  // Starts the timer of the process's lifetime after its begin or its recovery,
  // unless there is such a timer already.
  void BeginLifetime(const Process& process, const Turn& turn,
                     DurableState& state);

  const Shared shared_;
  Inbox& inbox_;
  StepCaller& caller_;
  Beginning& beginning_;
  Applier& applier_;
  Upgrader& upgrader_;
  Teardown& teardown_;
  Continuing& continuing_;
  LiveWorld& world_;
  Lane& lane_;
  StepMarks::Mark* const mark_;  // null: there is none
  // The record of the last step. Its memory is used again for the next record.
  records::Step step_;
  std::string spare_image_;  // memory for the next image
  StateImages images_;
  HistoryReplay replay_;
  DurableUpgrade upgrade_;
  LoggedSends sends_;
  DurableYields yields_;
  DurableApplier durable_applier_;
};

}  // namespace actord::runtime
