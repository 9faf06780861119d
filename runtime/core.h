// The composition root of the runtime: all parts, in the order of their
// dependencies, and the threads that run the workers.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/actors/dead_letters.h"
#include "runtime/actors/failures.h"
#include "runtime/actors/groups.h"
#include "runtime/actors/label_table.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/actors/names.h"
#include "runtime/actors/request_ids.h"
#include "runtime/actors/results.h"
#include "runtime/actors/ties.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_inputs.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable/letter_journal.h"
#include "runtime/durable/parked_processes.h"
#include "runtime/durable_turn/absent_types.h"
#include "runtime/effects/blocking_pool.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/effects/kept_calls.h"
#include "runtime/effects/undelivered.h"
#include "runtime/passivator.h"
#include "runtime/recording/recordings.h"
#include "runtime/runtime.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/shutdown_orders.h"
#include "runtime/scheduler/spare_lanes.h"
#include "runtime/shutdown.h"
#include "runtime/system/sip_hash.h"
#include "runtime/system/thread.h"
#include "runtime/tasks/task_table.h"
#include "runtime/tasks/task_timer_thread.h"
#include "runtime/topics/topics.h"
#include "runtime/turn/ending.h"
#include "runtime/turn/host.h"
#include "runtime/turn/process_admission.h"
#include "runtime/workers/worker_threads.h"
#include "runtime/yields/lifetimes.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Runtime::Core {
 public:
  // Precondition: `options` are checked and resolved.
  Core(const RuntimeOptions& options, const Catalog& catalog);
  ~Core();

  absl::Status StartThreads();
  // Brings the processes of the store back. To be called before StartThreads,
  // when the catalog is filled. If no plugin has the type of a process, the
  // process is in quarantine. FAILED_PRECONDITION: a limit leaves no room for
  // the processes. DATA_LOSS: the store is damaged.
  absl::Status Recover();
  absl::Status SetLimits(const Limits& given);
  absl::Status SetQuotas(const OwnerQuotas& all,
                         const std::vector<OwnQuotas>& own);
  // The errors of a message from outside that do not depend on its receiver.
  [[nodiscard]] absl::Status CheckMessage(const Message& message) const;
  // Called on a thread that runs no workers. `taken`: the lane of a thread that
  // sends many messages; null: the shared lane. `id`: the message id, kept by
  // the record of the message; null: none. (runtime.cc)
  Sent SendFromOutside(Owner by, const Pid& to, const Message& message,
                       TakenLane* taken, const RequestId* id = nullptr);
  // The messages of a Submit: all or none; at most Activity::kMaxChain.
  // `id`: the request id; null: none.
  Sent SendAllFromOutside(Owner by, const Pid& to,
                          const std::vector<Message>& messages,
                          const RequestId* id);
  // See Runtime.
  void WhenDurable(uint64_t position, absl::AnyInvocable<void() &&> then);
  void WhenDurableHere(uint64_t position, absl::AnyInvocable<void() &&> then);
  // wake.cc. Brings a dormant process back, if `by` sees it. True: it is no
  // longer dormant; another thread may have brought it back. False: `by` does
  // not see it; or the store cannot be read, and the program ends. Any thread;
  // waits for the disk.
  bool Wake(const Pid& pid, Owner by);
  // When the first yield of a process in the store is due, if all of them are
  // timers, on the store's clock. 0: there is no yield. nullopt: there is
  // another yield. Any thread.
  [[nodiscard]] std::optional<uint64_t> TimersDueNs(
      const records::RuntimeImage& image) const;
  // Adds the fields that only Describe shows.
  void DescribeMore(ProcessInfo& info) const;
  // See Runtime. (runtime.cc)
  AwaitId Await(const Pid& pid, AwaitCallback done, Owner by);
  // The answer of Await about an ended process without a kept result: its
  // failure, or the error.
  [[nodiscard]] absl::StatusOr<Outcome> OutcomeNotKept(const Pid& pid,
                                                       Owner by) const;
  // See Runtime. (listing.cc)
  [[nodiscard]] absl::StatusOr<ProcessInfo> Describe(const Pid& pid,
                                                     Owner by) const;
  [[nodiscard]] absl::StatusOr<std::string> TypeNameOf(const Pid& pid,
                                                       Owner by) const;
  [[nodiscard]] ProcessPage ListProcesses(const ProcessFilter& filter,
                                          uint32_t first_slot,
                                          size_t page_size) const;
  // See Runtime. (listing_calls.cc)
  [[nodiscard]] CallPage ListCalls(const CallFilter& filter,
                                   uint64_t first_place,
                                   size_t page_size) const;
  // Posts a cancel or a terminate from outside. `deadline`: the deadline of a
  // cancel, for the record of a durable process; for this start the caller sets
  // the timer.
  Sent Control(Owner by, const Pid& to, uint16_t type, std::string_view reason,
               absl::Duration deadline = absl::ZeroDuration());
  // See Runtime.
  void RetryQuarantine(const Pid& pid, Quarantine::Retried done, Owner by);
  [[nodiscard]] absl::Status NotRestored(const Pid& pid) const;
  UpgradePiece TellOfUpgrade(
      const absl::flat_hash_set<const ProcessType*>& versions,
      uint32_t first_slot);
  RuntimeStats Stats() const;
  [[nodiscard]] std::map<std::string, TurnHistogram> TurnTimesByType() const;
  [[nodiscard]] uint64_t LiveProcesses() const;
  // The number of live processes that a shutdown ends.
  [[nodiscard]] uint64_t LiveVolatile() const;
  // Closes the states of durable processes, because no shutdown ends these
  // processes, and answers the waiting submitters. To be called once, when the
  // threads have stopped and the store is closed.
  void CloseDurable();
  // The sum of a counter over all threads.
  [[nodiscard]] uint64_t Sum(Counter Counters::*counter) const;

  const RuntimeOptions options;  // without the limits, which `limits` has
  LiveLimits limits;
  const Catalog& catalog;
  const Clock& clock;
  std::atomic<RunState> state{RunState::kStarting};

  BufferPool buffers;
  ProcessTable processes;
  // Null: the runtime has no store.
  const std::unique_ptr<DurableProcesses> durable;
  AbsentTypes absent_types;  // of the store
  RequestIds request_ids;    // of Submit
  RequestIds message_ids;    // of Send
  Scheduler scheduler;
  const std::unique_ptr<ParkedProcesses> parked;  // null: there is no store
  Lane lane;  // for all threads that run no workers
  SpareLanes spare_lanes;
  Delivery delivery;
  const std::unique_ptr<DurableInputs> durable_inputs;
  const std::unique_ptr<LetterJournal> letter_journal;
  TaskTable tasks;
  Results results;
  YieldBroker broker;
  DeadLetters dead_letters;
  LabelTable labels;
  Recordings recordings;
  LifecycleLog lifecycle_log;
  Names names;
  ProcessLog process_log;
  Groups groups;
  Ties ties;
  Failures failures;
  Topics topics;
  Lifetimes lifetimes;
  ProcessAdmission admission;
  Host host;
  BlockingPool pool;
  Dispatcher dispatcher;
  const std::unique_ptr<KeptCalls> kept_calls;  // null: there is no store
  Calls calls;
  const Undelivered undelivered;
  Ending ending;
  ShutdownOrders orders;
  runtime::Shutdown shutdown;
  const SipKey step_secret;  // for the random bits of steps
  WorkerThreads threads;
  TaskTimerThread task_timer_thread;
  // Null: there is no store.
  const std::unique_ptr<Passivator> passivator;
  const std::unique_ptr<TimedWakes> timed_wakes;
  // The plugins of the processes that the store had at the start. Written by
  // Recover.
  absl::flat_hash_set<records::PluginNumber> plugins_of_store;

 private:
  // The turn classes of a thread that runs workers (thread_turns.h).
  class ThreadTurns;
  std::shared_ptr<ProcessRunner> MakeRunner(Lane& thread_lane,
                                            BlockingCalls& blocking_calls);
  // Plugins whose load was requested, while Recover runs.
  absl::flat_hash_set<records::PluginNumber> asked_plugins_;
  // Number of processes in quarantine because their type is missing, by the
  // reason.
  using Absent = std::map<std::string, uint64_t>;
  // Brings a process back. Returns it if it is ready, otherwise null.
  absl::StatusOr<Process*> RecoverOne(StoredProcess&& stored, Absent& absent);
  // Notes that the store has a process of this plugin, and loads the version
  // that has written its state if another one is in force.
  void UsePlugin(const ProcessEntry& entry);
  // Sets the deadline of a cancel again.
  void ResumeCancel(const Pid& pid, const records::RuntimeImage& image);
  [[nodiscard]] absl::Status NoRoomForStored() const;
  // Gives the process its labels, names and groups in the store.
  absl::Status HoldNames(const StoredProcess& stored);
  // False: the labels break a rule.
  bool HoldLabels(const StoredProcess& stored);
  // Puts the process into quarantine if its steps have crashed the daemon.
  void CheckPoison(Process& process, const Pid& pid, const ProcessType& type);
  // Precondition of both: the process is not live yet, so no other thread uses
  // it.
  void EnterQuarantine(Process& process, QuarantineEntry entry);
  void EnterQuarantine(Process& process, const StoredProcess& stored,
                       const absl::Status& why);
  // The type of a stored process.
  struct StoredType {
    const ProcessType& type;
    // Not OK: the type is a stand-in, and the process must go into quarantine.
    absl::Status fits;
  };
  StoredType TypeOf(const StoredProcess& stored);
  // The monitors and links of a process in the store, and the ends that it has
  // not received yet.
  struct WatchesOf {
    Pid pid;
    std::vector<records::Watch> watches;
    std::vector<StoredProcess::Exit> exits;
  };
  void RecoverTies(const WatchesOf& of);
  // ---- recovery_ids.cc Brings the ids back, after the processes. If Init of a
  // process has not returned, the process's id is in flight until Init returns.
  absl::Status RecoverIds();
  // Tells the task table of the outstanding commands of a process.
  void ExpectTasks(const Pid& pid, const records::RuntimeImage& image);
  void RestoreId(const StoredRequest& stored);
  // Brings the dead letters back.
  absl::Status RecoverLetters();
  // The outcome of a process, from the store. `type`: the number of its type
  // (TypeNames); 0: not known.
  static Outcome FromStore(OutcomeEntry&& entry, uint16_t type);
  // Brings the results back, in the order of the ends.
  absl::Status RecoverOutcomes();
  // False: the process has begun, or another id has started it.
  bool AwaitBegin(const StoredRequest& request);
  // ---- wake.cc Whether the process can stay only in the store after a start,
  // until it is needed.
  [[nodiscard]] bool MayBeDormant(const StoredProcess& stored) const;
  // Makes the process dormant after a start. FAILED_PRECONDITION: a limit of
  // processes is reached. DATA_LOSS: the store is damaged.
  absl::Status EnterDormant(const StoredProcess& stored,
                            const ProcessType& type);
  // Precondition: the caller holds ResidencyOf the PID, and the process is
  // dormant. (Not asserted: a Mutex does not know its holder.)
  // `damage`: why the image or the history could not be read; then the process
  // goes into quarantine.
  absl::Status BringBack(StoredProcess&& stored, const absl::Status& damage);

  void FreeMailboxes();
  bool closed_durable_ = false;
};

}  // namespace actord::runtime
