// A remote worker: leases external commands from one daemon and carries them
// out with your function. Connects, grants credits, sends heartbeats and
// answers, and reconnects when the connection breaks. docs/workers.md states
// the guarantees. In short, a command may be carried out more than once: pass
// Task.idempotency_key to every service that must not do the work twice.
//
// Thread-safety: see the functions. Ownership: owns its connection and threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/work.pb.h"
#include "client/calls/cancellation.h"
#include "client/calls/endpoint.h"

namespace actord::client {

// The outcome of one attempt.
struct TaskOutcome {
  // The result; empty when the attempt failed.
  std::optional<v1::Payload> result;
  // The error of a failed attempt; `code` is a google.rpc.Code number.
  v1::YieldError error;
  // Whether a retry may succeed; false: the process receives the error.
  bool retry = false;
  // The delay before the retry; nullopt: the daemon's back-off.
  std::optional<absl::Duration> retry_delay;

  static TaskOutcome Result(v1::Payload payload);
  // Makes a failure without a retry.
  static TaskOutcome Error(absl::StatusCode code, const std::string& message);
  static TaskOutcome Retry(absl::StatusCode code, const std::string& message,
                           std::optional<absl::Duration> delay = std::nullopt);
};

// A task as its handler sees it. Valid until the handler returns.
class RunningTask {
 public:
  virtual ~RunningTask() = default;
  [[nodiscard]] virtual const v1::Task& task() const = 0;
  // Cancelled when the outcome of the task will no longer be used: stop soon
  // and return any outcome.
  [[nodiscard]] virtual Cancellation& cancellation() = 0;
  // Sends `progress` with the next heartbeat, for the next attempt to read. At
  // most 4096 bytes of data; the daemon refuses a heartbeat with more.
  virtual void SetProgress(v1::Payload progress) = 0;
};

// How a task of this worker ended.
struct TaskReport {
  enum class End {
    // The daemon's answer is in `answer`.
    kAnswered,
    // The daemon refused the answer; `refusal` says why.
    kRefused,
    // The daemon took the task back before there was an outcome.
    kCancelled,
    // The connection broke; the daemon gives the task to another worker.
    kLost,
  };
  const v1::Task& task;
  End end = End::kAnswered;
  // The attempt failed, and a retry may follow.
  bool failed = false;
  v1::CompleteYieldResponse::Answer answer =
      v1::CompleteYieldResponse::ANSWER_UNSPECIFIED;
  v1::TaskRefusal refusal;
  // Why the attempt failed; "": it has a result, or no outcome.
  std::string error = {};
};

struct WorkerOptions {
  // External commands to lease: names, or prefixes that end in '*'. At least
  // one.
  std::vector<std::string> commands;
  // Name of the worker, for people.
  std::string name;
  // Maximum number of tasks at a time, each on its own thread. 1 to 1000.
  int concurrency = 1;
  // Number of answered tasks after which the worker stops. 0: no limit.
  uint64_t max_tasks = 0;
  // First delay between attempts to connect; it doubles up to
  // `max_reconnect_delay`.
  absl::Duration reconnect_delay = absl::Milliseconds(100);
  absl::Duration max_reconnect_delay = absl::Seconds(5);
  // Called for each finished task, by one thread at a time; must not block for
  // long. May be empty.
  std::function<void(const TaskReport&)> on_end;
  // Called when there is no connection; the next attempt follows after `delay`.
  // Runs on the thread of Run. May be empty.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_broken;
};

class Worker {
 public:
  // Called on up to `concurrency` threads at a time. Must not throw.
  using Handler = std::function<TaskOutcome(RunningTask&)>;

  // Run connects.
  Worker(const Endpoint& endpoint, WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Works until `stop` is cancelled or max_tasks were answered, finishes the
  // tasks that it holds, and returns OK. Otherwise returns the error that makes
  // a reconnect useless, such as INVALID_ARGUMENT for a command that is not
  // external. Call Run once.
  absl::Status Run(Cancellation& stop);

 private:
  class Work;
  const std::unique_ptr<Work> work_;
};

}  // namespace actord::client
