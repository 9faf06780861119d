// The tasks that a worker holds: tasks that wait for a thread, that run, and
// that wait for the daemon's answer; and when each of them needs a heartbeat.
//
// Life of a task: queued ─► running ─► answering ─► gone. When the stream ends,
// only the tasks with an unanswered result stay. Their results are sent again
// on the next stream, and the daemon says whether they still count.
//
// Thread-safety: none; the worker locks. The caller passes the time in.
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
  // The outcome of the task will not be used, for this reason.
  bool over = false;
  TaskReport::End why_over = TaskReport::End::kCancelled;
  absl::Time next_beat;
  // Not sent yet.
  std::optional<v1::Payload> progress;
  // In kAnswering: the outcome, and when to send it; infinite: it was sent.
  std::optional<TaskOutcome> outcome;
  absl::Time send_at = absl::InfiniteFuture();
};

class HeldTasks {
 public:
  // Copies share the task, so that a thread that runs it keeps it alive.
  using Handle = std::shared_ptr<HeldTask>;
  using Report = std::function<void(const TaskReport&)>;

  // `report` is called for each task that is gone.
  explicit HeldTasks(Report report) : report_(std::move(report)) {}

  void Add(v1::Task task, absl::Time now);
  // The next task to run; null if none is queued.
  Handle Start();
  // The handler has returned this outcome.
  void Finish(const Handle& held, TaskOutcome outcome, absl::Time now);

  void OnCancel(const v1::TaskCancel& cancel);
  void OnAnswer(const v1::TaskAnswer& answer, absl::Time now);
  // The stream has ended.
  void OnBroken(absl::Time now);

  // Maximum size of a result. A larger result is replaced by an error that says
  // so, because the daemon would refuse it, or break the stream off, again and
  // again. 0: not known.
  void SetMaxResultBytes(uint64_t bytes) { max_result_bytes_ = bytes; }

  // Adds the items that are due to `request`. False: nothing is due.
  bool TakeDue(absl::Time now, v1::WorkRequest& request);
  // When the next item is due, unless something happens before.
  [[nodiscard]] absl::Time NextDue() const;

  // Number of tasks in all phases.
  [[nodiscard]] size_t size() const { return held_.size(); }
  // Number of tasks that were answered finally since the start.
  [[nodiscard]] uint64_t answered() const { return answered_; }

 private:
  void Cancel(HeldTask& held, TaskReport::End why);
  // Replaces a result that the daemon would not take by an error for the
  // process.
  void Refuse(HeldTask& held, const v1::TaskRefusal& refusal, absl::Time now);
  void Remove(const std::string& token, const TaskReport& report);

  const Report report_;
  // By token.
  std::map<std::string, Handle> held_;
  std::deque<Handle> queued_;
  uint64_t answered_ = 0;
  uint64_t max_result_bytes_ = 0;
};

}  // namespace actord::client
