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

// True: the step succeeded, and the caller need not call FailureOf.
inline bool IsPlain(const StepRecord& record) {
  return record.misuse.ok() &&
         rules::Succeeds(record.verdict, record.yields != 0);
}
// Returns why the step failed, and takes the text of the failure; nullopt: the
// step did not fail.
std::optional<EndCause> FailureOf(const TurnInput& input, StepRecord& record);

// Whether the process ends with this step. Precondition: the step did not fail.
inline bool EndsLife(const TurnInput& input, const StepRecord& record) {
  ACTORD_ASSERT_HOT(IsPlain(record) || record.verdict == ACTORD_STEP_BLOCK,
                    "verdict.h: the step did not fail");
  return record.verdict == ACTORD_STEP_DONE || input.step >= input.max_steps;
}
// The cause of the end of a process that has taken all its steps and is not
// done.
EndCause OutOfSteps(const TurnInput& input);
// Returns why the process ends. Precondition: EndsLife.
inline EndCause EndOfLife(const TurnInput& input, const StepRecord& record) {
  ACTORD_ASSERT_HOT(EndsLife(input, record), "verdict.h: the life ends");
  return record.verdict == ACTORD_STEP_DONE ? EndCause{} : OutOfSteps(input);
}

}  // namespace actord::runtime
