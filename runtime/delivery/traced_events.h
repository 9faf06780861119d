// Events that belong to a trace. While a message or a call is in a mailbox, its
// envelope is inside of another one, which has the trace behind the topic. The
// turn that takes it out of the mailbox unwraps it. So an event without a trace
// has no room for one, and no turn asks for it: the turn looks closer only at
// events that are not plain messages.
//
// Thread-safety: any thread, with its own lane. Ownership: the caller owns the
// envelopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/process/envelope.h"
#include "runtime/process/pid.h"
#include "runtime/scheduler/lane.h"
#include "runtime/tracing/acting_trace.h"
#include "runtime/tracing/trace_context.h"

namespace actord::runtime {

// An envelope with a trace, around an event of another type.
inline constexpr uint16_t kEventTraced = UINT16_MAX - 13;
// Not an event: the next step of the process belongs to this trace.
inline constexpr uint16_t kEventTraceNote = UINT16_MAX - 14;

// Size of the buffer of the envelope of a message with a trace, which may be
// null. `is_logged`: the message is in the journal.
size_t TracedBytesFor(std::string_view topic, const actord_payload& payload,
                      bool is_logged, const TraceContext* trace);

// A copy of `event` with the trace. A header of the event stays where it was
// (Envelope::ReadHeader, WriteHeader).
Envelope* NewTraced(BufferCache& buffers, const Envelope& event,
                    const TraceContext& trace);
// The same, which frees `event`.
Envelope* Wrap(Envelope* event, const TraceContext& trace, Lane& lane);
// The same for a trace that may be null: then it is the event itself. Inline,
// because each message from outside comes here.
inline Envelope* Traced(Envelope* event, const TraceContext* trace,
                        Lane& lane) {
  return trace == nullptr ? event : Wrap(event, *trace, lane);
}
// The input of a new process, with its trace; null: there is neither.
Envelope* NewInput(const Payload& input, const TraceContext* trace,
                   BufferCache& buffers);
// Traces the input of a new process, which may be empty.
void TraceInput(Content& input, const TraceContext* trace, Lane& lane);
// A note for urgent_taken. `is_due`: it counts only for a step without events.
Envelope* NewTraceNote(const TraceContext& trace, uint32_t generation,
                       bool is_due, Lane& lane);

// `envelope`: of kEventTraced or kEventTraceNote.
TraceContext TraceOf(const Envelope& envelope);
// `envelope`: of kEventTraceNote.
bool IsDueNote(const Envelope& envelope);
// The type of the event inside. `envelope`: of kEventTraced.
uint16_t InnerTypeOf(const Envelope& envelope);
// The event inside; frees the envelope. Precondition: it is of kEventTraced.
Envelope* Unwrap(Envelope* envelope, Lane& lane);

// Names a process in runtime/tracing/.
inline TracedProcess TracedProcessOf(const Pid& pid) {
  return uint64_t{pid.slot} << 32 | pid.generation;
}

// The trace of a submission: that of the client's call, or, if `parent` is not
// empty, that of the parent's step, a command of which spawns the process.
// Null: none.
inline const TraceContext* TraceOfSubmission(const Pid& parent) {
  return parent.empty() ? ActingTrace::Here()
                        : StepTrace::Of(TracedProcessOf(parent));
}

}  // namespace actord::runtime
