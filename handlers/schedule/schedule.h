// The process type "schedule": submits a process, or sends a message, at an
// interval or at the times of a cron expression. Its input is in
// schedule_spec.h. SchedulePlan decides which runs are due; this class carries
// them out.
//
// The type can be durable. One record holds both the command of a run and the
// new state of the schedule, and a durable process's command is carried out
// once. So each due time is run at most once, also over restarts.
//
// Calls that it answers with its state in JSON (docs/schedules.md lists the
// fields):
//
//   show    changes nothing
//   pause   runs nothing until resume
//   resume  continues with the next due time
//   remove  ends, with its state as the result
//
// The same topics also work as messages without an answer.
//
// Thread-safety: see process.h.
#pragma once

#include <actord/process.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "handlers/schedule/schedule_plan.h"
#include "handlers/schedule/schedule_spec.h"

namespace actord::handlers {

class Schedule : public Process {
 public:
  static constexpr const char* kName = "schedule";
  static constexpr const char* kDoc =
      "Submits a process or sends a message at an interval or by cron.";
  static constexpr Method kMethods[] = {
      {"run", "Runs what its input describes, when it is due."}};
  static constexpr Durability kDurability = Durability::kImage;

  // Maximum number of runs in progress: the process has not returned from Init,
  // or the message is not in the mailbox. At the limit, due times wait.
  static constexpr size_t kMaxUnderWay = 64;
  // Maximum bytes of payloads that a step yields, if it yields more than one
  // run.
  static constexpr size_t kMaxStepBytes = size_t{64} * 1024;
  // Maximum size of the text of an error.
  static constexpr size_t kMaxErrorBytes = 1024;

  Status Init(std::string_view method, const Payload& input,
              const StepContext& context);
  void Step(Events events, StepOutput& out);
  [[nodiscard]] SnapshotResult Snapshot() const;
  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context);

 private:
  static Moment Now(const StepContext& context);
  Status Read(std::string_view input, const StepContext& context);
  void TakeCompletion(const Event& event, const Moment& now, StepOutput& out);
  void TakeFailure(const Error& error, const Moment& now, StepOutput& out);
  // False: the schedule ends with this step.
  [[nodiscard]] bool TakeMessage(const Event& event, const Moment& now,
                                 StepOutput& out);
  void RunWhatIsDue(const Moment& now, StepOutput& out);
  void SetTimer(const Moment& now, StepOutput& out);
  [[nodiscard]] std::string Describe(const Moment& now,
                                     bool is_removed = false) const;

  // Set in Init and Restore.
  std::string input_;
  ScheduleSpec spec_;
  std::optional<SchedulePlan> plan_;

  // The timer, and its due time on the monotonic clock; 0: none.
  Tag sleep_ = 0;
  int64_t sleeps_until_ns_ = 0;
  // The commands of runs in progress, with the due times on the wall clock.
  std::map<Tag, int64_t> under_way_;

  uint64_t runs_ = 0;
  uint64_t failures_ = 0;
  // Times of the wall clock; 0: never.
  int64_t last_due_ns_ = 0;
  int64_t last_run_ns_ = 0;
  int64_t last_error_ns_ = 0;
  std::string last_error_;
  std::string last_pid_;
  // The last completed run has failed.
  bool is_failing_ = false;
};

}  // namespace actord::handlers
