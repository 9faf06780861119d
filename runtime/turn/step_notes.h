// Makes the notes about a step (noted_step.h) from its input and its record.
//
// Thread-safety: the thread of the step.
#pragma once

#include "runtime/process/listed/noted_step.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

// The number, the events and the verdict of the step that has returned, while
// the bytes of its events are there.
[[nodiscard]] NotedStep NoteStep(const TurnInput& input,
                                 const StepRecord& record);
// Adds the effects that the step of a volatile process has asked for, before
// they are applied: its children are still reserved.
void NoteEffects(const StepRecord& record, const ProcessTable& processes,
                 NotedStep& step);

}  // namespace actord::runtime
