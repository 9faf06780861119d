// The process type "supervisor": starts its children, and starts them again
// when they end, as its input says (supervisor_spec.h). What it does when is
// decided by SupervisorPlan; here that is carried out.
//
// Each child is linked to it and monitored by it before its first step. So it
// is told of each end, and when it is terminated itself its children end, too.
//
// Calls that it answers, in JSON (docs/actor-model.md says more of each):
//
//   children       {"after": id}: itself and its children, a page of them
//
//   started        {}, when all children have been up
//
//   start_child    a child as in the input: {"id", "pid"}, when Init returned
//
//   stop_child     {"id"}: {"id"}, when it has ended
//
//   restart_child  {"id"}: {"id", "pid"}
//
//   delete_child   {"id"}: {"id"}
//
// Thread-safety: as process.h says.
#pragma once

#include <actord/process.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/supervisor/supervisor_plan.h"

namespace actord::handlers {

class Supervisor : public Process {
 public:
  static constexpr const char* kName = "supervisor";
  static constexpr const char* kDoc =
      "Starts processes in order, and again when they end.";
  static constexpr Method kMethods[] = {
      {"run", "Supervises the children that its input describes."}};
  static constexpr bool kHandlesCancel = true;
  static constexpr bool kTrapsExits = true;
  static constexpr bool kStopsChildren = true;

  // Of the children in a page, unless one alone has more. So that a page fits
  // wherever `limits.max_payload_bytes` is 4 KiB or more.
  static constexpr size_t kPageBytes = 3072;
  // Of the text of an error.
  static constexpr size_t kMaxTextBytes = 2048;
  // Calls of "started" that wait; one more takes the place of the oldest.
  static constexpr size_t kMaxWaiting = 1000;

  Status Init(std::string_view method, const Payload& input,
              const StepContext& context);
  void Step(Events events, StepOutput& out);

 private:
  using Plan = SupervisorPlan;

  void Take(const Event& event, const Plan::Moment& moment, StepOutput& out);
  void TakeCompletion(const Event& event, const Plan::Moment& moment,
                      StepOutput& out);
  void TakeCall(const Event& event, StepOutput& out);
  // Does what the plan asks for now; false: nothing.
  bool CarryAll(const Plan::Moment& moment, StepOutput& out);
  void Carry(const Plan::Action& action, const Plan::Moment& moment,
             StepOutput& out);
  void Start(const Plan::Action& action, const Plan::Moment& moment,
             StepOutput& out);
  void SetTimer(Duration now, StepOutput& out);
  // A page of the children behind the one with this id; empty: from the first.
  Result<std::string> List(std::string_view after, const StepOutput& out) const;

  std::optional<Plan> plan_;  // from Init on
  // Outstanding yields that matter: the start, the sleep, terminates by tag.
  Tag start_ = 0;
  Plan::Key starting_ = 0;
  Tag sleep_ = 0;
  std::optional<Duration> sleeps_until_;
  std::map<Tag, Pid> terminates_;
  std::vector<CallId> wait_for_start_;
  bool has_said_all_ = false;  // the next step ends it
};

}  // namespace actord::handlers
