// The actor runtime: admits processes and messages, runs them on the scheduler,
// dispatches their yields, and keeps their results for Await. This class is the
// daemon's only interface to the runtime.
//
// Thread-safety: every function may be called from any thread, unless it says
// otherwise. Callbacks run on a worker, on another thread of the runtime, or on
// the caller's thread before the call returns; they must not block. Errors:
// absl::Status with a reason of errors.h.
//
// `by`: the owner of the client, or kAny for a client who sees the processes of
// all owners. A process that `by` does not see looks like a process that has
// ended (ProcessTable::WhyNotFound).
#pragma once

#include <actord/abi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/counters/stats.h"
#include "runtime/counters/turn_times.h"
#include "runtime/process/callbacks.h"
#include "runtime/process/catalog.h"
#include "runtime/process/listed/ended_info.h"
#include "runtime/process/listed/outside_caller.h"
#include "runtime/process/outcome.h"
#include "runtime/process/owner.h"
#include "runtime/process/owner_limits.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/process/process_info.h"
#include "runtime/process/submission.h"
#include "runtime/settings/options.h"
#include "runtime/system/cpu_latency.h"
#include "runtime/tasks/remote_tasks.h"

namespace actord::runtime {

class DeadLetters;
class Failures;
class LifecycleLog;
class Recordings;
class Topics;
class RequestIds;

enum class ShutdownMode { kDrain, kNow };

// The fate of durable processes at a shutdown: kept for the next start,
// or ended like volatile ones.
enum class DurableAtEnd { kKeep, kEnd };

struct ShutdownReport {
  uint64_t ended = 0;   // ended by themselves since the shutdown began
  uint64_t forced = 0;  // terminated, including the stuck processes
  // Durable processes that are in the store for the next start.
  uint64_t kept = 0;
  // Steps and pooled handlers that did not return within `stuck_after` after
  // they were told to stop. If this is not 0, ~Runtime waits for them, perhaps
  // for ever: exit with _exit.
  uint64_t stuck = 0;
};

class Runtime {
 public:
  using SubmitCallback = runtime::SubmitCallback;
  using AwaitCallback = runtime::AwaitCallback;
  using AwaitId = runtime::AwaitId;
  using SubmitOrDeliverCallback = runtime::SubmitOrDeliverCallback;
  using CallCallback = runtime::CallCallback;
  using CallId = runtime::CallId;
  using CallOnceCallback = runtime::CallOnceCallback;

  // Builds a runtime whose threads begin with Start. `catalog` is borrowed and
  // must outlive the runtime; it may be filled after Create and before Start,
  // so that handlers can be given host().
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(
      const RuntimeOptions& options, const Catalog& catalog);
  // Shuts down with kNow if Shutdown was not called.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The interface of the daemon for handlers. Valid for the runtime's lifetime.
  [[nodiscard]] const actord_host* host() const;
  // Begins to serve. Call it once; after a Shutdown it does nothing. INTERNAL:
  // the system cannot start all threads; then nothing is served.
  absl::Status Start();

  // Calls back exactly once: when Init has returned on a worker, or with an
  // error: UNKNOWN_PROCESS_TYPE, UNKNOWN_METHOD, INVALID_FIELD,
  // PAYLOAD_TOO_LARGE, INIT_REFUSED, PROCESS_LIMIT, MEMORY_LOW, NAME_TAKEN,
  // STARTING, DRAINING.
  void Submit(const SubmitRequest& request, SubmitCallback done);
  // Submits a request that has a name. If a process holds the name, all
  // messages of the request (at most 64) or none are put into its mailbox, and
  // no process is started. Errors: those of Submit and of Send.
  void SubmitOrDeliver(SubmitRequest request, SubmitOrDeliverCallback done);
  // OK: the message is in the mailbox. Errors: PROCESS_NOT_FOUND,
  // PROCESS_ENDED, MAILBOX_FULL, MEMORY_LOW, PAYLOAD_TOO_LARGE; INVALID_FIELD
  // for a topic or a content type of more than 1024 bytes. `position`: gets the
  // position of the message's record, or 0 if it has none. When that record is
  // durable (WhenDurable), a durable process has the message for certain, and
  // the client may be answered. `id`: kept by that record; null: none. The
  // caller has begun the id with message_ids().
  absl::Status Send(const Pid& to, const Message& message,
                    Owner by = Owner::kAny, uint64_t* position = nullptr,
                    const RequestId* id = nullptr);
  // The ids of Submit and of Send. Valid for the runtime's lifetime.
  [[nodiscard]] RequestIds& request_ids();
  [[nodiscard]] RequestIds& message_ids();
  // The position of the last record so far; 0: everything is durable, or there
  // is no store. An answer to a client may rest on any earlier record, so it
  // waits for this position.
  [[nodiscard]] uint64_t LastPosition() const;
  // True: the record at `position` is durable, or `position` is 0.
  [[nodiscard]] bool IsDurable(uint64_t position) const;
  // True: the disk of the store is behind. Code that can wait should begin no
  // work for durable processes. False if the disk is full: a full disk may
  // last, so work is refused instead.
  [[nodiscard]] bool IsJournalBehind() const;
  // JOURNAL_BEHIND or STORE_FULL: a completion for this process would have to
  // wait for the disk.
  [[nodiscard]] absl::Status CheckFilling(const Pid& pid) const;
  // Calls `then` when the record at `position` is durable: at once, on this
  // thread, if it is 0. If the disk fails, `then` is dropped; the program is
  // about to end.
  void WhenDurable(uint64_t position, absl::AnyInvocable<void() &&> then) const;
  // Same as WhenDurable, for a thread that holds no lock and that can wait for
  // a sync. If no other caller waits, it writes and syncs the record itself,
  // which saves the wake-ups of two threads. It may also call the `then` of
  // other callers.
  void WhenDurableHere(uint64_t position,
                       absl::AnyInvocable<void() &&> then) const;
  // Sends a message that needs an answer, and calls back once, with the answer
  // or with an error: the errors of Send; CALL_FAILED with the code and the
  // text of the process's answer; CALLEE_ENDED when the process has ended
  // without a reply; STOPPED. There is no timeout: see CancelCall. `who`: says
  // who waits, for ListCalls; empty: that is not known.
  CallId Call(const Pid& to, const Message& message, CallCallback done,
              Owner by = Owner::kAny, WhoCalls who = {});
  // The same for a durable process, with an id: of several calls with the same
  // id the first one is carried out, also over a restart, and all calls get its
  // answer. Further errors: DURABILITY_OFF, NOT_DURABLE, REQUEST_ID_REUSED, and
  // MAILBOX_FULL when too many of these calls have no answer. `to`: used only
  // for the first call.
  CallId CallOnce(const Pid& to, const Message& message, const RequestId& id,
                  CallOnceCallback done, Owner by = Owner::kAny);
  // Whether a call with this id was made, and its answer is kept or still
  // expected.
  [[nodiscard]] bool KnowsCall(const RequestId& id) const;
  // Cancels a call; its answer then counts as late. A call with an id
  // continues. True: the callback will not run. False: the callback has run or
  // is about to run.
  bool CancelCall(CallId id);
  // Calls back with the outcome when the process has ended: at once if the
  // outcome is in memory, or the failure (failures.h) of a volatile process.
  // The outcome of a durable process is otherwise read from the store, and the
  // callback runs on the store's thread; it must not block. Its failure counts
  // if the store does not keep the outcome. Errors: PROCESS_NOT_FOUND;
  // RESULT_NOT_KEPT when the process has ended and neither is kept; STOPPED;
  // DATA_LOSS when the store cannot read the outcome.
  AwaitId Await(const Pid& pid, AwaitCallback done, Owner by = Owner::kAny);
  // The outcome of an ended process, only from memory: takes no time, and gives
  // RESULT_NOT_KEPT also for an outcome that only the store keeps.
  // Precondition: the process has ended. (Not asserted: for a caller that does
  // not see it, it counts as ended.)
  [[nodiscard]] absl::StatusOr<Outcome> OutcomeInMemory(const Pid& pid,
                                                        Owner by = Owner::kAny);
  // Cancels an Await. True: the callback will not run. False: the callback has
  // run or is about to run.
  bool CancelAwait(const Pid& pid, AwaitId id);

  // Completes the yield, even if a remote worker has leased it.
  CompleteAnswer CompleteYield(const YieldToken& token,
                               const YieldResult& result);
  // External commands as tasks of remote workers. Valid for the runtime's
  // lifetime.
  [[nodiscard]] RemoteTasks& remote_tasks();
  // Errors: PROCESS_NOT_FOUND, PROCESS_ENDED; MAILBOX_FULL when 15,000 of these
  // orders wait for a process that gets no turn. A second cancel is OK and
  // changes only the deadline. `deadline`: the time until the process, if it
  // still lives, is terminated. Zero: no deadline. Of several deadlines the
  // earliest counts. `position`: as for Send.
  absl::Status Cancel(const Pid& pid, std::string_view reason,
                      absl::Duration deadline = absl::ZeroDuration(),
                      Owner by = Owner::kAny, uint64_t* position = nullptr);
  absl::Status Terminate(const Pid& pid, std::string_view reason,
                         Owner by = Owner::kAny, uint64_t* position = nullptr);

  // Lists a page of the durable processes in quarantine, in the order in which
  // they entered. A process that is in quarantine during the whole walk over
  // all pages is listed exactly once.
  [[nodiscard]] QuarantinePage ListQuarantine(const QuarantineFilter& filter,
                                              uint64_t first_sequence,
                                              size_t page_size) const;
  // Tries to restart a process in quarantine with the code in force, and resets
  // its count of crashes. Calls back once: OK, the process has left the
  // quarantine; PROCESS_QUARANTINED: it is still there, for the reason in the
  // text; NOT_QUARANTINED, PROCESS_NOT_FOUND, PROCESS_ENDED, DRAINING.
  void RetryQuarantine(const Pid& pid,
                       absl::AnyInvocable<void(const absl::Status&) &&> done,
                       Owner by = Owner::kAny);

  // The error for an answer that is CompleteAnswer::kNotRestored: NOT_RESTORED,
  // with a short delay, or PROCESS_QUARANTINED.
  [[nodiscard]] absl::Status NotRestored(const Pid& pid) const;

  absl::StatusOr<ProcessInfo> Describe(const Pid& pid,
                                       Owner by = Owner::kAny) const;
  // The name of the process's type, with the errors of Describe. Much cheaper
  // than Describe for a volatile process: it takes no lock.
  absl::StatusOr<std::string> TypeNameOf(const Pid& pid,
                                         Owner by = Owner::kAny) const;
  // Lists at most `page_size` processes from the place `first_slot` on. A
  // process that lives during the whole walk over all pages is listed exactly
  // once. One call examines at most kMaxLookedAt places, so a page before the
  // last may be short or empty. Dormant processes are read from the store, and
  // stay dormant.
  ProcessPage ListProcesses(const ProcessFilter& filter, uint32_t first_slot,
                            size_t page_size) const;
  // Lists a page of the ended processes whose results are kept: Results::List.
  [[nodiscard]] EndedPage ListEnded(const EndedFilter& filter, uint64_t before,
                                    size_t page_size) const;
  // Makes processes whose types are upgraded to one of `versions` take a turn,
  // so that idle processes upgrade without another event. Examines at most
  // kMaxLookedAt slots from `first_slot` on, and tells at most kMaxTold
  // processes. The pieces together leave out no process that lived before the
  // first piece.
  struct UpgradePiece {
    uint64_t told = 0;
    // The slot where the next piece begins; 0: this was the last piece.
    uint32_t next_slot = 0;
  };
  static constexpr uint64_t kMaxTold = 1024;
  UpgradePiece TellOfUpgrade(
      const absl::flat_hash_set<const ProcessType*>& versions,
      uint32_t first_slot);
  // The plugins of the processes that the store had when Start returned, by
  // their numbers. Empty: there is no store.
  [[nodiscard]] const absl::flat_hash_set<uint32_t>& PluginsOfStore() const;
  struct VersionCount {
    uint64_t live = 0;  // processes of the version
    // Processes of former versions that may upgrade to the version, including
    // processes that have declined it.
    uint64_t to_come = 0;
  };
  // Adds the number of processes in memory to the count of each version of a
  // type. Examines at most kMaxLookedAt slots from `first_slot` on. Returns the
  // slot where the next piece begins; 0: this was the last piece.
  uint32_t CountVersions(
      uint32_t first_slot,
      absl::flat_hash_map<const ProcessType*, VersionCount>& counts) const;
  // Lists yields as ListProcesses lists processes. A page also ends before its
  // payloads exceed `page_bytes`, but has at least one yield if a matching
  // yield was examined.
  YieldPage ListYields(const YieldFilter& filter, uint64_t first_sequence,
                       size_t page_size, size_t page_bytes = SIZE_MAX) const;
  // Lists calls that have no answer yet as ListProcesses lists processes, but
  // calls with an id (CallOnce) are not listed.
  [[nodiscard]] CallPage ListCalls(const CallFilter& filter,
                                   uint64_t first_place,
                                   size_t page_size) const;
  static constexpr size_t kMaxLookedAt = runtime::kMaxLookedAt;
  // The live process of `owner` that holds the name. NAME_NOT_FOUND: there is
  // none. Each owner has names of its own.
  [[nodiscard]] absl::StatusOr<Pid> FindName(
      std::string_view name, Owner owner = Owner::kNobody) const;
  // Names of the owner's live processes around `name` in the order of the
  // alphabet; see Names::Near.
  [[nodiscard]] std::vector<std::string> NamesNear(std::string_view name,
                                                   Owner owner) const;
  // The live members of the owner's group, in the order of their PIDs.
  [[nodiscard]] std::vector<Pid> GroupMembers(std::string_view group,
                                              Owner owner) const;
  // Lists a page of the names that begin with `prefix`. A name that is held
  // during the whole walk over all pages is listed exactly once.
  [[nodiscard]] NamePage ListNames(std::string_view prefix,
                                   uint64_t first_sequence, size_t page_size,
                                   Owner by = Owner::kAny) const;
  // Messages that could not be delivered. Valid for the runtime's lifetime.
  [[nodiscard]] DeadLetters& dead_letters();
  // The newest failures of processes. Valid for the runtime's lifetime.
  [[nodiscard]] const Failures& failures() const;
  // Starts and ends of processes, for watches. Valid for the runtime's
  // lifetime.
  [[nodiscard]] LifecycleLog& lifecycle_log();
  // The last steps of processes that somebody has asked to record. Valid for
  // the runtime's lifetime.
  [[nodiscard]] Recordings& recordings();
  // Publications of processes, for subscriptions. Valid for the runtime's
  // lifetime.
  [[nodiscard]] Topics& topics();
  // Whether a command of this name is external.
  [[nodiscard]] bool IsExternal(std::string_view command) const;

  // The options of the start, with `workers` and `incarnation` resolved.
  [[nodiscard]] const RuntimeOptions& options() const;
  // The limits in force.
  [[nodiscard]] const LiveLimits& limits() const;
  // Sets the limits from now on. Existing processes, messages and yields above
  // a limit stay. Dead letters, watch events and results above a limit are
  // dropped at once, remembered answers when the next answer comes; the oldest
  // first. INVALID_ARGUMENT: a limit is out of its range, and nothing has
  // changed. Call it from one thread at a time.
  absl::Status SetLimits(const Limits& limits);
  // Sets the quotas of all owners from now on, and the quotas of the owners in
  // `own`. Amounts above a new quota stay. Waiting messages and yields are
  // counted from the first such quota on. FAILED_PRECONDITION:
  // RuntimeOptions::counts_owners is not set. Call it from one thread at a
  // time.
  absl::Status SetQuotas(const OwnerQuotas& all,
                         const std::vector<OwnQuotas>& own);
  // True: submissions, messages and calls from outside are refused with
  // MEMORY_LOW from now on. All other work continues: completions, cancels, and
  // the sends and spawns of processes.
  void SetMemoryLow(bool low);
  [[nodiscard]] RuntimeStats Stats() const;
  // How long turns of each type take, as a sample of all turns since the start
  // (turn_times.h). The types without a histogram of their own are under
  // Failures::kOtherTypes. Empty without RuntimeOptions::samples_turns.
  [[nodiscard]] std::map<std::string, TurnHistogram> TurnTimesByType() const;

  // Memory that is kept for reuse (buffer_pool.h). Any thread except workers,
  // because GivePagesBack takes up to a second.
  [[nodiscard]] size_t FreeBufferBytes() const;
  size_t GivePagesBack();
  // Whether a process is ready, and waits for a worker.
  [[nodiscard]] bool HasReadyWork() const;

  // Refuses new submissions from now on. kDrain: asks every process to end,
  // waits until all processes have ended or `timeout` has passed (infinite: for
  // ever), and then terminates the rest. kNow: terminates all processes at
  // once. Messages and completions are still delivered meanwhile. Steps and
  // handlers that do not return are given up after RuntimeOptions::stuck_after.
  // Blocks; must not be called on a worker. A second call with kNow cuts a
  // drain short; every caller gets the whole report. Afterwards no process is
  // left and no callback is outstanding.
  // With kEnd durable processes that have not ended `stuck_after` after they
  // were terminated are kept.
  ShutdownReport Shutdown(ShutdownMode mode, absl::Duration timeout,
                          DurableAtEnd durable = DurableAtEnd::kKeep);
  // Cuts short the drain of a Shutdown that is under way or about to begin.
  // Does not wait for its end.
  void HurryShutdown();

  // The parts of the runtime (core.h). Public, so that tests can run the
  // workers by hand; the daemon does not use it.
  class Core;
  explicit Runtime(std::unique_ptr<Core> core);

 private:
  friend class BulkSender;
  std::unique_ptr<CpuLatency> cpu_latency_;  // null: no request
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::runtime
