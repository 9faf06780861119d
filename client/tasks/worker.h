// A remote worker: takes external commands from one daemon and carries them out
// with a function of yours. Connects, gives credits, sends heartbeats, answers,
// and connects again when the connection breaks. docs/workers.md says what is
// guaranteed; in short, a command may be carried out more than once, so hand
// Task.idempotency_key to whoever must not do it twice.
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

namespace actord::client {

// What came of one attempt.
struct TaskOutcome {
  // Empty when the attempt failed.
  std::optional<v1::Payload> result;
  // Why it failed; `code` a google.rpc.Code number.
  v1::YieldError error;
  // Whether another attempt is worth it; false: the process sees the error.
  bool retry = false;
  // Nullopt: the daemon's back-off.
  std::optional<absl::Duration> retry_delay;

  static TaskOutcome Result(v1::Payload payload);
  // No further attempt.
  static TaskOutcome Error(absl::StatusCode code, const std::string& message);
  static TaskOutcome Retry(absl::StatusCode code, const std::string& message,
                           std::optional<absl::Duration> delay = std::nullopt);
};

// A task as its handler sees it. Valid until the handler returns.
class RunningTask {
 public:
  virtual ~RunningTask() = default;
  [[nodiscard]] virtual const v1::Task& task() const = 0;
  // Cancelled when nothing that comes of the task will be used any more: stop
  // soon and return whatever you like.
  [[nodiscard]] virtual Cancellation& cancellation() = 0;
  // Sent with the next heartbeat, for the next attempt to see. At most 4096
  // bytes of data; more makes the heartbeat a refused one.
  virtual void SetProgress(v1::Payload progress) = 0;
};

// What became of a task that this worker had.
struct TaskReport {
  enum class End {
    kAnswered,   // `answer` says how
    kRefused,    // `refusal` says why: the daemon will not have this answer
    kCancelled,  // it was taken back before there was an outcome
    kLost,       // the connection broke; another worker has it
  };
  const v1::Task& task;
  End end = End::kAnswered;
  bool failed = false;  // the attempt did, and another may follow
  v1::CompleteYieldResponse::Answer answer =
      v1::CompleteYieldResponse::ANSWER_UNSPECIFIED;
  v1::TaskRefusal refusal;
};

struct WorkerOptions {
  // Names, or prefixes that end in '*'. At least one.
  std::vector<std::string> commands;
  // Who this is, for people.
  std::string name;
  // Tasks at a time, each on a thread of its own. 1 to 1000.
  int concurrency = 1;
  // Stops by itself after so many tasks were answered. 0: never.
  uint64_t max_tasks = 0;
  // Between attempts to connect: this long at first, doubling up to
  // `max_reconnect_delay`.
  absl::Duration reconnect_delay = absl::Milliseconds(100);
  absl::Duration max_reconnect_delay = absl::Seconds(5);
  // May be empty. Called by one thread at a time; must not block for long.
  std::function<void(const TaskReport&)> on_end;
  // The connection broke, or there is none, and another is tried after `delay`.
  // May be empty. Called on the thread of Run.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_broken;
};

class Worker {
 public:
  // Called on `concurrency` threads at a time. Must not throw.
  using Handler = std::function<TaskOutcome(RunningTask&)>;

  // `address` as Client's. Connects in Run.
  Worker(const std::string& address, WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Works until `stop` is cancelled or max_tasks were answered, and finishes
  // what it holds. OK then; else the error that makes another attempt to
  // connect useless, such as INVALID_ARGUMENT for a command that is not
  // external. Once.
  absl::Status Run(Cancellation& stop);

 private:
  class Work;
  const std::unique_ptr<Work> work_;
};

}  // namespace actord::client
