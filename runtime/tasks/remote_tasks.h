// What the daemon sees of tasks: remote workers open, take tasks within their
// credits, and say what came of them. (A remote worker is a program; the
// scheduler's workers have nothing to do with it.)
//
// Life of a task, which is a yield of an external command:
//
//            ┌──────────── back-off ────────────┐
//            ▼                                  │
//   Add ─► queued ── Take (attempt + 1) ─► leased ── Complete ─► over
//            ▲                               │  │
//            └── lease lost, worker closed ──┘  └── Fail, no attempts left ─►
//            over
//
// From every state it is over when the yield is: by its timeout, its process's
// end, CompleteYield, or its start timeout while it is queued.
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
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/tasks/external_yield.h"

namespace actord::runtime {

// An answer to a yield.
struct YieldResult {
  absl::StatusCode code = absl::StatusCode::kOk;
  Payload
      payload;  // the result; if code is not kOk, `bytes` is the error's text
};

enum class CompleteAnswer {
  kAccepted,     // this answer is the yield's completion and is in the mailbox
  kDuplicate,    // the same answer was accepted before
  kConflict,     // another answer was accepted before
  kSuperseded,   // a newer attempt was handed out
  kExpired,      // it timed out, was cancelled, ran out of attempts, or its
                 // process ended, before any answer
  kMailboxFull,  // the process has not taken earlier completions yet; the yield
                 // waits on
  kUnknown,      // no such yield or attempt is or was known (or it was
                 // forgotten)
};

using RemoteWorkerId = uint64_t;  // 0: none

// Is told that Take may have something. Called on a thread of the runtime's
// own, without its locks; must not block.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void Wake() = 0;
};

// One attempt at a yield, in the hands of a worker.
struct TaskAttempt {
  TaskToken token;
  ExternalYield yield;
  uint32_t max_attempts = 0;
  absl::Duration lease;
  uint64_t attempt_deadline_unix_ns = 0;  // 0: none
  std::optional<Payload> progress;        // of an earlier attempt
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
  // The batch ends with the task whose payload reaches it.
  size_t bytes = size_t{256} << 10;
};

struct TaskFailure {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string text;
  std::optional<absl::Duration> retry_delay;  // nullopt: the policy's back-off
};

class RemoteTasks {
 public:
  // Of credits and tasks held by one worker, together.
  static constexpr uint32_t kMaxTasks = 10'000;
  // Of an error's text that is kept for the next attempt and for lists.
  static constexpr size_t kMaxErrorBytes = 256;

  virtual ~RemoteTasks() = default;

  // Whether a command that matches `pattern` may be an external one.
  [[nodiscard]] virtual bool MayBeExternal(std::string_view pattern) const = 0;

  // A worker for commands that match one of `patterns` (at least one, each a
  // pattern). It has no credits yet. `name` is for people.
  virtual RemoteWorkerId Open(std::vector<std::string> patterns,
                              std::string name,
                              std::shared_ptr<TaskListener> listener) = 0;
  // The worker is gone: what it held goes to others at once. The listener may
  // be called once more. Nothing happens if it is closed already; the same is
  // true of the following functions.
  virtual void Close(RemoteWorkerId worker) = 0;
  // False: there would be more than kMaxTasks; nothing has changed.
  [[nodiscard]] virtual bool AddCredits(RemoteWorkerId worker,
                                        uint32_t count) = 0;
  // Takes all credits back, and those that come.
  virtual void StopTasks(RemoteWorkerId worker) = 0;
  // The worker has given a sign of life. One that let a lease end is sent no
  // further task before.
  virtual void Heard(RemoteWorkerId worker) = 0;

  // The next tasks, in the worker's hands from now on, and all cancels. With
  // `busy` the worker has something else to write and will Take again when it
  // has. If it is not and the batch is empty, the listener is woken when there
  // is something.
  [[nodiscard]] virtual TaskBatch Take(RemoteWorkerId worker, bool busy,
                                       const TaskBatchLimits& limits) = 0;

  // See CompleteAnswer. A token without an attempt speaks for the yield.
  virtual CompleteAnswer Complete(const TaskToken& token,
                                  const YieldResult& result) = 0;
  // kAccepted: the attempt is over; the next follows, or the yield is over. The
  // token has an attempt.
  virtual CompleteAnswer Fail(const TaskToken& token,
                              const TaskFailure& failure) = 0;
  // kAccepted: the lease begins anew. The token has an attempt. `progress` is
  // kept for the next attempt, if there is room.
  virtual CompleteAnswer Heartbeat(const TaskToken& token,
                                   std::optional<Payload> progress) = 0;
};

}  // namespace actord::runtime
