// The process type "schedule": submits a process, or sends a message, at an
// interval or at the times of a cron expression, as its input says
// (schedule_spec.h). SchedulePlan decides what is due; this class carries it
// out.
//
// The type can be durable. The step that takes a due time holds the command of
// its run and the new state in one record, and a durable process's command is
// carried out once. So each due time is run at most once, over restarts too.
//
// Calls that it answers with its state in JSON (docs/schedules.md lists the
// fields):
//
//   show     changes nothing
//
//   pause    runs nothing until resume
//
//   resume   goes on with the next due time
//
//   remove   ends, with its state as the result
//
// The same topics act as messages that want no answer.
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

  // Maximum number of runs that are under way: whose process has not returned
  // from Init, or whose message is not in the mailbox. At the limit, due times
  // wait.
  static constexpr size_t kMaxUnderWay = 64;
  // Bytes of payloads that a step yields, if it yields more than one run.
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
  [[nodiscard]] std::string Describe(const Moment& now) const;

  // Set in Init and Restore.
  std::string input_;
  ScheduleSpec spec_;
  std::optional<SchedulePlan> plan_;

  // The timer, and when it fires on the monotonic clock; 0: none.
  Tag sleep_ = 0;
  int64_t sleeps_until_ns_ = 0;
  // The commands of runs under way, with the due times on the wall clock.
  std::map<Tag, int64_t> under_way_;

  uint64_t runs_ = 0;
  uint64_t failures_ = 0;
  // Times of the wall clock; 0: never.
  int64_t last_due_ns_ = 0;
  int64_t last_run_ns_ = 0;
  int64_t last_error_ns_ = 0;
  std::string last_error_;
  std::string last_pid_;
  // The last run that has completed has failed.
  bool is_failing_ = false;
};

}  // namespace actord::handlers
