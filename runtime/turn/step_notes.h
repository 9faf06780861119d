// Makes the notes about a step (noted_step.h) from its input and its record.
//
// Thread-safety: pure functions of their arguments.
#pragma once

#include "runtime/process/listed/noted_step.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"

namespace actord::runtime {

// The number, the events and the verdict of the step that has returned, while
// the bytes of its events are there.
[[nodiscard]] NotedStep NoteStep(const TurnInput& input,
                                 const StepRecord& record);
// Adds the effects that the step has asked for, before they are applied.
void NoteEffects(const StepRecord& record, NotedStep& step);

}  // namespace actord::runtime
