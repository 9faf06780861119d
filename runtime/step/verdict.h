// What a step that returned means for its process, decided from its input and
// its record alone.
//
// Thread-safety: pure functions of what they are given.
#pragma once

#include <optional>

#include "runtime/process/outcome.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"

namespace actord::runtime {

// Whether it ended well beyond doubt: FailureOf need not be asked.
inline bool IsPlain(const StepRecord& record) {
  const int32_t verdict = record.verdict;
  return record.misuse.ok() &&
         (verdict == ACTORD_STEP_IDLE || verdict == ACTORD_STEP_CONTINUE ||
          verdict == ACTORD_STEP_DONE ||
          (verdict == ACTORD_STEP_BLOCK && record.yields != 0));
}
// Why the step failed; nullopt: it did not. Takes the text of a failure.
std::optional<EndCause> FailureOf(const TurnInput& input, StepRecord& record);

// Of a step that did not fail: the process ends with it.
inline bool EndsLife(const TurnInput& input, const StepRecord& record) {
  return record.verdict == ACTORD_STEP_DONE || input.step >= input.max_steps;
}
// Why. Precondition: it does.
EndCause EndOfLife(const TurnInput& input, const StepRecord& record);

}  // namespace actord::runtime
