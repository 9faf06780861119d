// Decides from the input and the record of a step what happens to its process.
//
// Thread-safety: pure functions of their arguments.
#pragma once

#include <optional>

#include "handlers/rules/process_rules.h"
#include "runtime/process/outcome.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

// A verdict (StepRecord::verdict of a step), as histories name it. The text
// lives as long as the program.
const char* VerdictName(int32_t verdict);

// True: the step succeeded, and the caller need not call FailureOf.
inline bool IsPlain(const StepRecord& record) {
  return record.misuse.ok() &&
         rules::Succeeds(record.verdict, record.yields != 0);
}
// Whether the step failed, so that its effects do not happen.
bool HasFailed(const TurnInput& input, const StepRecord& record);
// Returns why the step failed, and takes the text of the failure; nullopt: the
// step did not fail.
std::optional<EndCause> FailureOf(const TurnInput& input, StepRecord& record);

// Whether the process ends with this step. Precondition: the step did not fail.
inline bool EndsLife(const TurnInput& input, const StepRecord& record) {
  ACTORD_ASSERT_HOT(IsPlain(record) || record.verdict == ACTORD_STEP_BLOCK ||
                        record.verdict == ACTORD_STEP_CONTINUE_AS,
                    "verdict.h: the step did not fail");
  return record.verdict == ACTORD_STEP_DONE || input.step >= input.max_steps;
}
// Whether the process begins again, with the record's continuation. A process
// that asked for that ends instead after a cancel, or at the limit of steps.
// Preconditions: the step did not fail, and FailureOf has checked the record.
// Not asserted: the record does not say whether FailureOf has checked it.
inline bool BeginsAgain(const TurnInput& input, const StepRecord& record) {
  return record.verdict == ACTORD_STEP_CONTINUE_AS && !input.cancel_requested &&
         input.step < input.max_steps;
}
// Why a process ends without being done.
EndCause WhyNotDone(const TurnInput& input, const StepRecord& record);
// Returns why the process ends. Precondition: the step did not fail, and the
// process neither goes on nor begins again.
inline EndCause EndOfLife(const TurnInput& input, const StepRecord& record) {
  return record.verdict == ACTORD_STEP_DONE ? EndCause{}
                                            : WhyNotDone(input, record);
}

}  // namespace actord::runtime
