// Makes the end of a process known to others: results, log, names, groups,
// callers, ties. Teardown (teardown.h) takes apart what the process itself
// holds. The steps of both, in their order:
//
//   1. The turn closes the process's state and its yields, and drops the
//      remains of an upgrade (Teardown::End).
//   2. A failure is kept (failures.h), before anybody can find that the process
//      has ended. The end is counted, and another process of the type may
//      begin.
//
//   In one critical section of the results, if the result is kept:
//   3. The generation becomes even: the process cannot be found any more.
//   4. `Process::wanted` is read: the bits of the observers to tell.
//   5. If the lifecycle log records, it appends ENDED.
//   6. The result is stored, and its awaiters are taken off the list. They are
//      called after the critical section.
//
//   After the critical section, each only if its bit of `wanted` is set
//   (Observers):
//   7. Names: the names are free before anybody else hears of the end.
//   8. Groups.
//   9. Calls: the calls that the process has not answered fail.
//  10. Ties: monitors and links are told. Labels are dropped; the outcome and
//      the event have taken them before. So is the recording of the process,
//      which its failure has taken.
//
//  11. A submitter that waits for Init gets the refusal, and may use the name
//      again at once.
//  12. The mailbox is emptied into the dead letters. The sender of a call
//      checks, after the delivery, whether the process has ended, and relies on
//      3 before 12 (Run::Kind::kCall).
//  13. The activity word gets `ended`, the slot is freed, and a shutdown is
//      told.
//
// A durable process first records its end, and these steps follow when the
// record is durable (durable_end.cc). Its unanswered calls from durable
// processes, and its kept calls, fail before step 1, and all others in step 9.
//
// If nobody wants the end, the turn only reads `wanted` and whether the log
// records; it builds no Outcome and calls no observer. Most spawned processes
// end this way.
//
// Ending keeps the failure of step 2 and does steps 3 to 10; Teardown does the
// rest.
//
// Thread-safety: from the turn of the process.
// performance-notes: Marks not measured alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/actors/failures.h"
#include "runtime/actors/groups.h"
#include "runtime/actors/label_table.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/actors/names.h"
#include "runtime/actors/results.h"
#include "runtime/actors/ties.h"
#include "runtime/effects/calls.h"
#include "runtime/process/end_record.h"
#include "runtime/process/listed/failed_step.h"
#include "runtime/process/listed/type_names.h"
#include "runtime/recording/recordings.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/step_record.h"
#include "runtime/system/clock.h"

namespace actord::runtime {

class Ending {
 public:
  // The observers of steps 7 to 10.
  using Observers =
      EndObservers<Names, Groups, Calls, Ties, LabelTable, Recordings>;
  struct Parts {
    Results& results;
    LifecycleLog& lifecycle_log;
    Failures& failures;
    const Names& names;
    const LabelTable& labels;
    const Recordings& recordings;
    TypeNames& type_names;
  };

  Ending(const Parts& parts, const Observers& observers, const Clock& clock)
      : parts_(parts), observers_(observers), clock_(clock) {}

  // Keeps the failure, if the cause is one and somebody misses it. (The client
  // who submits a process gets its refusal.) False: it is none.
  // `step`: the step that has failed; null: no step has.
  bool KeepFailure(const Process& process, const Pid& pid,
                   const EndCause& cause, std::unique_ptr<FailedStep> step);

  // Does steps 3 to 10. `record`: the record of the process's last call; its
  // result is taken or dropped.
  void Publish(Process& process, const Pid& pid, EndCause&& cause,
               StepRecord& record, Lane& lane);

 private:
  struct Seen {
    bool recorded;   // the log records
    uint8_t wanted;  // bits of Wanted
  };
  // Step 3 with its paired reads, and step 5.
  static Seen MakeUnfindable(Process& process,
                             const LifecycleLog& lifecycle_log);
  // Takes the result out of the record.
  Outcome OutcomeOf(const Process& process, const Pid& pid, EndCause&& cause,
                    StepRecord& record) const;
  // The name and the labels of the process; null: it has neither.
  [[gnu::noinline]] std::shared_ptr<const EndedTags> TagsOf(
      const Process& process, const Pid& pid) const;
  void PublishKept(Process& process, const Pid& pid, Outcome outcome,
                   Lane& lane);
  [[gnu::noinline]] void PublishUnkept(Process& process, const Pid& pid,
                                       const Seen& seen, const Outcome& outcome,
                                       Lane& lane);

  const Parts parts_;
  const Observers observers_;
  const Clock& clock_;
};

}  // namespace actord::runtime
