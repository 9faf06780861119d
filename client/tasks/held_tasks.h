// The tasks that a worker holds: which waits for a thread, which runs, which
// waits for the daemon's answer, and when each needs a heartbeat.
//
// Life of a task: queued ─► running ─► answering ─► gone. The stream's end
// leaves only those with a result that the daemon has not answered, to be sent
// again on the next stream; the daemon then says whether it still counts.
//
// Thread-safety: none; the worker locks. Time is passed in.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "actord/v1/work.pb.h"
#include "client/calls/cancellation.h"
#include "client/tasks/worker.h"

namespace actord::client {

struct HeldTask {
  enum class Phase { kQueued, kRunning, kAnswering };

  explicit HeldTask(v1::Task of) : task(std::move(of)) {}

  const v1::Task task;
  Cancellation cancellation;
  Phase phase = Phase::kQueued;
  // Nothing that comes of it will be used; why.
  bool over = false;
  TaskReport::End why_over = TaskReport::End::kCancelled;
  absl::Time next_beat;
  std::optional<v1::Payload> progress;  // not sent yet
  // Of kAnswering: what to send, and when; infinite: it was sent.
  std::optional<TaskOutcome> outcome;
  absl::Time send_at = absl::InfiniteFuture();
};

class HeldTasks {
 public:
  // Copies share the task, so that whoever runs it keeps it.
  using Handle = std::shared_ptr<HeldTask>;
  using Report = std::function<void(const TaskReport&)>;

  // `report` is called for each task that is gone.
  explicit HeldTasks(Report report) : report_(std::move(report)) {}

  void Add(v1::Task task, absl::Time now);
  // The next to run; null: none is queued.
  Handle Start();
  // The handler has returned.
  void Finish(const Handle& held, TaskOutcome outcome, absl::Time now);

  void OnCancel(const v1::TaskCancel& cancel);
  void OnAnswer(const v1::TaskAnswer& answer, absl::Time now);
  // The stream has ended.
  void OnBroken(absl::Time now);

  // A larger result is not sent, but an error that says so: the daemon would
  // refuse it, or break the stream off, again and again. 0: not known.
  void SetMaxResultBytes(uint64_t bytes) { max_result_bytes_ = bytes; }

  // Adds what is to be sent now. False: nothing is.
  bool TakeDue(absl::Time now, v1::WorkRequest& request);
  // When there will be something, unless something happens before.
  [[nodiscard]] absl::Time NextDue() const;

  // Of all phases.
  [[nodiscard]] size_t size() const { return held_.size(); }
  // Answered for good since the start.
  [[nodiscard]] uint64_t answered() const { return answered_; }

 private:
  void Cancel(HeldTask& held, TaskReport::End why);
  // The result will not be taken: the process hears of it.
  void Refuse(HeldTask& held, const v1::TaskRefusal& refusal, absl::Time now);
  void Remove(const std::string& token, const TaskReport& report);

  const Report report_;
  std::map<std::string, Handle> held_;  // by token
  std::deque<Handle> queued_;
  uint64_t answered_ = 0;
  uint64_t max_result_bytes_ = 0;
};

}  // namespace actord::client
