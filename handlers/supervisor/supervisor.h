// The process type "supervisor": starts the children of its input
// (supervisor_spec.h) and restarts them when they end. SupervisorPlan decides;
// this class carries the decisions out.
//
// The supervisor links and monitors each child before the child's first step.
// So it receives the end of each child, and when it is terminated itself its
// children end, too.
//
// Calls that it answers, in JSON (docs/actor-model.md describes each):
//
//   children       {"after": id}: the supervisor and one page of its children
//
//   started        {}, when all children have been up
//
//   start_child    a child as in the input: {"id", "pid"}, when Init returned
//
//   stop_child     {"id"}: {"id"}, when the child has ended
//
//   restart_child  {"id"}: {"id", "pid"}
//
//   delete_child   {"id"}: {"id"}
//
//   input          the supervisor's input; {} if there was none
//
// The type can be durable: after a restart of the daemon a supervisor continues
// with its durable children, and starts its volatile children again.
//
// Thread-safety: see process.h.
#pragma once

#include <actord/process.h>

#include <optional>
#include <string>
#include <string_view>

#include "handlers/supervisor/supervisor_image.h"
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
  static constexpr Durability kDurability = Durability::kImage;

  // Maximum size of the children in a page, unless a single child is larger. So
  // a page fits if `limits.max_payload_bytes` is 4 KiB or more.
  static constexpr size_t kPageBytes = 3072;
  // Maximum size of the text of an error.
  static constexpr size_t kMaxTextBytes = 2048;
  // Maximum number of waiting "started" calls; a further call replaces the
  // oldest.
  static constexpr size_t kMaxWaiting = 1000;

  Status Init(std::string_view method, const Payload& input,
              const StepContext& context);
  void Step(Events events, StepOutput& out);
  [[nodiscard]] SnapshotResult Snapshot() const;
  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context);

 private:
  using Plan = SupervisorPlan;

  void Take(const Event& event, const Plan::Moment& moment, StepOutput& out);
  void TakeCompletion(const Event& event, const Plan::Moment& moment,
                      StepOutput& out);
  void TakeCall(const Event& event, StepOutput& out);
  Status AnswerInput(const StepOutput& out, std::string& answer) const;
  // Carries out the plan's next actions. False: there is none.
  bool CarryAll(const Plan::Moment& moment, bool may_start, StepOutput& out);
  void Carry(const Plan::Action& action, const Plan::Moment& moment,
             StepOutput& out);
  void Start(const Plan::Action& action, const Plan::Moment& moment,
             StepOutput& out);
  void SetTimer(Duration now, StepOutput& out);
  // A page of the children after the child with this id; empty: from the first.
  Result<std::string> List(std::string_view after, const StepOutput& out) const;

  // Set in Init and Restore.
  std::string input_;
  std::optional<Plan> plan_;
  SupervisorWork work_;
};

}  // namespace actord::handlers
