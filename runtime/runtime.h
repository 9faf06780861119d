// The actor runtime: admits processes and messages, runs them on the scheduler,
// dispatches what they yield, and keeps their results for whoever awaits them.
// This is all that the daemon sees of it.
//
// Thread-safety: every function may be called from any thread, unless it says
// otherwise. Callbacks run on a worker or on a thread that the runtime owns (or
// on the caller's, before the call returns); they must not block. Errors:
// absl::Status with a reason of errors.h.
#pragma once

#include <actord/abi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/process/callbacks.h"
#include "runtime/process/catalog.h"
#include "runtime/process/outcome.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/process/process_info.h"
#include "runtime/process/stats.h"
#include "runtime/process/submission.h"
#include "runtime/settings/options.h"
#include "runtime/system/cpu_latency.h"
#include "runtime/tasks/remote_tasks.h"

namespace actord::runtime {

class DeadLetters;
class LifecycleLog;

enum class ShutdownMode { kDrain, kNow };

struct ShutdownReport {
  uint64_t ended = 0;   // ended by themselves since the shutdown began
  uint64_t forced = 0;  // were terminated, the stuck ones among them
  // Steps and pooled handlers that did not come back within `stuck_after` of
  // being told to stop. If there are any, ~Runtime waits for them, perhaps for
  // ever: leave by _exit.
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

  // Starts the workers' threads. `catalog` is borrowed and must outlive the
  // runtime; it may be filled after Create and before Start, so that handlers
  // can be given host().
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(
      const RuntimeOptions& options, const Catalog& catalog);
  // Shuts down with kNow if nobody did.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // What handlers see of the daemon. Valid for the runtime's lifetime.
  [[nodiscard]] const actord_host* host() const;
  // Begins to serve. Once; after a Shutdown it does nothing. INTERNAL: the
  // system has not as many threads; then nothing is served.
  absl::Status Start();

  // Calls back when Init has returned on a worker, or with the refusal:
  // UNKNOWN_PROCESS_TYPE, UNKNOWN_METHOD, INVALID_FIELD, PAYLOAD_TOO_LARGE,
  // INIT_REFUSED, PROCESS_LIMIT, NAME_TAKEN, STARTING, DRAINING. Called back
  // exactly once.
  void Submit(const SubmitRequest& request, SubmitCallback done);
  // The same for a request with a name; but if a process holds that, the
  // messages (64 at most) are put into its mailbox, all or none, and nothing is
  // started. Beside the reasons of Submit those of Send.
  void SubmitOrDeliver(SubmitRequest request, SubmitOrDeliverCallback done);
  // OK: the message is in the mailbox. PROCESS_NOT_FOUND, PROCESS_ENDED,
  // MAILBOX_FULL, PAYLOAD_TOO_LARGE; INVALID_FIELD for a topic or a content
  // type of more than 1024 bytes.
  absl::Status Send(const Pid& to, const Message& message);
  // Sends a message that wants an answer and calls back, once, with that, or
  // with an error: what Send refuses; CALL_FAILED with the code and the text
  // that the process has answered; CALLEE_ENDED when it has ended without a
  // reply; STOPPED. There is no timeout: see CancelCall.
  CallId Call(const Pid& to, const Message& message, CallCallback done);
  // Gives a call up; what comes for it then is late. True: the callback will
  // not run. False: it has run or is about to.
  bool CancelCall(CallId id);
  // Calls back with the outcome when the process has ended: at once if it is
  // kept. PROCESS_NOT_FOUND; RESULT_NOT_KEPT when it ended and its result was
  // not kept or has been forgotten.
  AwaitId Await(const Pid& pid, AwaitCallback done);
  // Gives an Await up. True: the callback will not run. False: it has run or is
  // about to.
  bool CancelAwait(const Pid& pid, AwaitId id);

  // Speaks for the yield, whoever is at it.
  CompleteAnswer CompleteYield(const YieldToken& token,
                               const YieldResult& result);
  // External commands as tasks of remote workers. For the runtime's lifetime.
  [[nodiscard]] RemoteTasks& remote_tasks();
  // PROCESS_NOT_FOUND, PROCESS_ENDED; MAILBOX_FULL when 15,000 of them wait
  // for a process that does not come to its turn. Cancelling again is OK and
  // changes nothing but the deadline. `deadline`: the time after which the
  // process is terminated if it has not ended; zero: never. Of several deadlines
  // the earliest counts.
  absl::Status Cancel(const Pid& pid, std::string_view reason,
                      absl::Duration deadline = absl::ZeroDuration());
  absl::Status Terminate(const Pid& pid, std::string_view reason);

  absl::StatusOr<ProcessInfo> Describe(const Pid& pid) const;
  // At most `page_size` processes from slot `first_slot` on. A process that
  // lives during the whole walk over all pages is listed exactly once. One call
  // looks at kMaxLookedAt slots, so a page may be short, even empty, before the
  // last.
  ProcessPage ListProcesses(const ProcessFilter& filter, uint32_t first_slot,
                            size_t page_size) const;
  // Has processes take a turn whose types are to become one of `versions`, so
  // that those that wait for nothing do so without an event. Looks at slots
  // from `first_slot` on, at kMaxLookedAt at most, and tells kMaxTold processes
  // at most. Over all pieces, none that lived before is left out.
  struct UpgradePiece {
    uint64_t told = 0;
    uint32_t next_slot =
        0;  // where the next piece begins; 0: this was the last
  };
  static constexpr uint64_t kMaxTold = 1024;
  UpgradePiece TellOfUpgrade(
      const absl::flat_hash_set<const ProcessType*>& versions,
      uint32_t first_slot);
  // Adds the live processes of each version of a type, of kMaxLookedAt slots
  // from `first_slot` on. Returns where to go on; 0: this was the last.
  uint32_t CountVersions(
      uint32_t first_slot,
      absl::flat_hash_map<const ProcessType*, uint64_t>& live) const;
  // As ListProcesses. A page also ends before its payloads exceed `page_bytes`,
  // but has one yield at least if there is one among those looked at.
  YieldPage ListYields(const YieldFilter& filter, uint64_t first_sequence,
                       size_t page_size, size_t page_bytes = SIZE_MAX) const;
  static constexpr size_t kMaxLookedAt = runtime::kMaxLookedAt;
  // Who holds the name: a process that lives. NAME_NOT_FOUND.
  [[nodiscard]] absl::StatusOr<Pid> FindName(std::string_view name) const;
  // Likewise a page of the names that begin with `prefix`. A name that is held
  // during the whole walk is listed exactly once.
  [[nodiscard]] NamePage ListNames(std::string_view prefix,
                                   uint64_t first_sequence,
                                   size_t page_size) const;
  // Messages that reached nobody. For the runtime's lifetime.
  [[nodiscard]] DeadLetters& dead_letters();
  // Starts and ends of processes, for those who watch. For the runtime's
  // lifetime.
  [[nodiscard]] LifecycleLog& lifecycle_log();
  // Whether a command of this name is an external one.
  [[nodiscard]] bool IsExternal(std::string_view command) const;

  [[nodiscard]] const RuntimeOptions& options()
      const;  // of the start; `workers` and `incarnation` are resolved
  // Those in force.
  [[nodiscard]] const LiveLimits& limits() const;
  // In force from now on. What is there stays, also above a limit, but the
  // oldest dead letters go at once, results and answers when the next comes.
  // INVALID_ARGUMENT: one is out of its range, and nothing has changed. From
  // one thread at a time.
  absl::Status SetLimits(const Limits& limits);
  [[nodiscard]] RuntimeStats Stats() const;

  // Refuses new submissions from now on, asks every process to end (kDrain) and
  // waits until all have, or until `timeout` (infinite: for ever); then
  // terminates the rest (kNow: at once). Goes on delivering messages and
  // completions meanwhile. What does not return is given up after
  // RuntimeOptions::stuck_after. Blocks; not to be called on a worker. A second
  // call with kNow cuts a drain short; every caller gets the whole report.
  // Afterwards no process is left and no callback is outstanding.
  ShutdownReport Shutdown(ShutdownMode mode, absl::Duration timeout);
  // Cuts the drain of a Shutdown short that is under way, or about to be. Does
  // not wait for its end.
  void HurryShutdown();

  // The parts and how they are put together (core.h). Public so that tests can
  // run the workers by hand; of no use to the daemon.
  class Core;
  explicit Runtime(std::unique_ptr<Core> core);

 private:
  friend class BulkSender;
  std::unique_ptr<CpuLatency> cpu_latency_;  // null: there is no wish
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::runtime
