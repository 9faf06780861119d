// The daemon's interface to tasks: a remote worker opens, takes tasks within
// its credits, and reports their results. (A remote worker is a program; it is
// unrelated to the scheduler's workers.)
//
// Life of a task. A task is a yield of an external command.
//
//            ┌───────── Fail, back-off ─────────┐
//            ▼                                  │
//   Add ─► queued ── Take (attempt + 1) ─► leased ── Complete ─► over
//            ▲                               │  │
//            └── lease lost, worker closed ──┘  └── no attempts left ─► over
//
// In every state the task is over when its yield ends: by its timeout, the end
// of its process, CompleteYield, or, while the task is queued, its start
// timeout.
//
// Thread-safety: any thread. No function blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/tasks/external_yield.h"

namespace actord::runtime {

// An answer to a yield.
struct YieldResult {
  absl::StatusCode code = absl::StatusCode::kOk;
  // The result. If code is not kOk, `bytes` is the error's text.
  Payload payload;
};

enum class CompleteAnswer {
  kAccepted,     // this answer is the yield's completion and is in the mailbox
  kDuplicate,    // the same answer was accepted before
  kConflict,     // another answer was accepted before
  kSuperseded,   // a newer attempt was handed out
  kExpired,      // before any answer, the yield timed out, was cancelled, ran
                 // out of attempts, or its process ended
  kMailboxFull,  // the process has not taken earlier completions yet; the yield
                 // stays pending
  kNotRestored,  // its process has not run since the start of the daemon; the
                 // yield stays pending
  kUnknown,      // this yield or attempt never existed, or was forgotten
};

enum class YieldFate {
  kWaiting,
  kAnswered,
  kEnded,    // before any answer, as kExpired
  kUnknown,  // as above
};

using RemoteWorkerId = uint64_t;  // 0: no worker

// Wake announces that Take may return tasks or cancels. The runtime calls it on
// a thread of its own, without holding locks. Wake must not block.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void Wake() = 0;
};

// One attempt at a yield, held by a remote worker.
struct TaskAttempt {
  TaskToken token;
  ExternalYield yield;
  uint32_t max_attempts = 0;
  absl::Duration lease;
  uint64_t attempt_deadline_unix_ns = 0;  // 0: no deadline
  std::optional<Payload> progress;        // from an earlier attempt
};

struct TaskCancel {
  enum class Reason { kYieldEnded, kLeaseLost };
  TaskToken token;
  Reason reason = Reason::kYieldEnded;
};

struct TaskBatch {
  std::vector<TaskAttempt> tasks;
  std::vector<TaskCancel> cancels;

  [[nodiscard]] bool empty() const { return tasks.empty() && cancels.empty(); }
};

struct TaskBatchLimits {
  size_t tasks = 16;
  // The batch ends with the task whose payload reaches this many bytes.
  size_t bytes = size_t{256} << 10;
};

struct TaskFailure {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string text;
  std::optional<absl::Duration> retry_delay;  // nullopt: the policy's back-off
};

// A worker that is open, for lists.
struct RemoteWorkerInfo {
  RemoteWorkerId id = 0;
  std::string name;
  Owner owner = Owner::kNobody;
  std::vector<std::string> patterns;  // each once
  size_t tasks = 0;                   // that it holds
  uint32_t credits = 0;
  bool is_silent = false;   // a lease has expired; no sign of life since
  bool is_stopped = false;  // it takes no more tasks (StopTasks)
  uint64_t opened_unix_ns = 0;
};

struct RemoteWorkerFilter {
  // The workers of the owners that this owner sees.
  Owner by = Owner::kAny;
  // The workers that may get tasks of this command. "": all workers.
  std::string command;
};

class RemoteTasks {
 public:
  // The limit of one worker's credits and held tasks together.
  static constexpr uint32_t kMaxTasks = 10'000;
  // The length to which an error's text is cut for lists.
  static constexpr size_t kMaxErrorBytes = 256;

  virtual ~RemoteTasks() = default;

  // True: a command that matches `pattern` may be external.
  [[nodiscard]] virtual bool MayBeExternal(std::string_view pattern) const = 0;

  // Opens a worker for commands that match one of `patterns` (at least one,
  // each a valid pattern). The worker has no credits yet. `name` is shown in
  // lists. The worker gets the tasks of all owners; `owner` may answer them
  // (MayAnswer).
  virtual RemoteWorkerId Open(std::vector<std::string> patterns,
                              std::string name, Owner owner,
                              std::shared_ptr<TaskListener> listener) = 0;
  // Closes a worker that is gone: its tasks are queued again at once. The
  // listener may be called once more. This function and the following ones do
  // nothing if the worker is closed already.
  virtual void Close(RemoteWorkerId worker) = 0;
  // False: the worker would exceed kMaxTasks; nothing has changed.
  [[nodiscard]] virtual bool AddCredits(RemoteWorkerId worker,
                                        uint32_t count) = 0;
  // Drops all credits of the worker, and all credits that are added later.
  virtual void StopTasks(RemoteWorkerId worker) = 0;
  // To be called when the worker gives a sign of life. After a worker's lease
  // has expired, the worker gets no task until this call.
  virtual void Heard(RemoteWorkerId worker) = 0;

  // Returns all cancels and the next tasks, which the worker holds from now on.
  // With a store, the tasks may be sent to the worker when the record at
  // Runtime::LastPosition is durable (Runtime::WhenDurable). `busy`: the caller
  // has other output to write and will call Take again after that. If not
  // `busy` and the batch is empty, the listener is woken when there are tasks
  // or cancels.
  [[nodiscard]] virtual TaskBatch Take(RemoteWorkerId worker, bool busy,
                                       const TaskBatchLimits& limits) = 0;

  // The first `count` matching workers whose number is above `after`, the
  // oldest first.
  [[nodiscard]] virtual std::vector<RemoteWorkerInfo> ListWorkers(
      const RemoteWorkerFilter& filter, RemoteWorkerId after,
      size_t count) const = 0;

  // The command of a yield that waits; nullopt: the yield does not wait, or
  // there is no such yield.
  [[nodiscard]] virtual std::optional<std::string> CommandOf(
      const YieldToken& token) const = 0;

  // The fate of a yield.
  [[nodiscard]] virtual YieldFate FateOf(const YieldToken& token) = 0;

  // Whether `by` may answer the yield: `by` sees its process, or is the owner
  // of the worker that held the yield last. False also for a yield that never
  // existed or was forgotten. For a caller who may not answer a yield, the
  // yield is kUnknown.
  [[nodiscard]] virtual bool MayAnswer(const YieldToken& token,
                                       Owner by) const = 0;

  // Completes a yield; see CompleteAnswer. A token without an attempt completes
  // the yield during any attempt.
  virtual CompleteAnswer Complete(const TaskToken& token,
                                  const YieldResult& result) = 0;
  // Ends an attempt with an error. kAccepted: the attempt is over, and the next
  // one follows or the yield is over. The token must have an attempt.
  virtual CompleteAnswer Fail(const TaskToken& token,
                              const TaskFailure& failure) = 0;
  // Renews a lease. kAccepted: the lease begins anew. The token must have an
  // attempt. `progress` is kept for the next attempt, if there is room.
  virtual CompleteAnswer Heartbeat(const TaskToken& token,
                                   std::optional<Payload> progress) = 0;
};

}  // namespace actord::runtime
