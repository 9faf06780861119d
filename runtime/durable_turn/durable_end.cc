// How a durable process ends: first in the journal, and when that record is
// durable, for everybody.
#include <map>
#include <optional>
#include <utility>

#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/durable_turn/durable_turn.h"
#include "runtime/process/upgrading.h"

namespace actord::runtime {

records::End DurableTurn::EndOf(const EndCause& cause,
                                const Payload& result) const {
  const bool has_result = cause.kind == EndKind::kResult;
  return {.reason = static_cast<records::EndReason>(cause.kind),
          .result = has_result ? result : Payload{},
          .code = static_cast<int32_t>(cause.code),
          .message = cause.message,
          .unix_ns = shared_.durable.clock().UnixNs(),
          .at_ns = shared_.durable.NowNs()};
}

void DurableTurn::CompleteSpawn(DurableState& state, int32_t status,
                                std::string_view text, uint64_t position) {
  const YieldToken spawn = std::exchange(state.spawn, {});
  if (spawn.pid.empty()) return;
  shared_.calls.AnswerLogged(spawn, status, TextPayload(text), position, lane_);
}

void DurableTurn::FailCalls(const Pid& self, const DurableState& state) {
  // Sorted, so that the order does not depend on a hash.
  std::map<uint64_t, DurableState::Caller> waiting;
  for (const auto& [call, caller] : state.calls) {
    if (!caller.yield.pid.empty() || caller.is_kept) {
      waiting.emplace(call, caller);
    }
  }
  for (const auto& [call, caller] : waiting) {
    if (caller.is_kept) {
      shared_.calls.FailKept(call);
    } else {
      shared_.calls.FailLogged(caller.yield, self, &state.end->cause, lane_);
    }
  }
}

void DurableTurn::LogMailbox(Process& process, Turn& turn,
                             const DurableState& state) {
  std::vector<const Envelope*> messages;
  inbox_.UnwrapMessages(process, turn, [&](const Envelope& message) {
    if (!state.unseen.contains(&message)) messages.push_back(&message);
  });
  shared_.letters.KeepBeforeEnd(PidOf(process, turn),
                                process.owner.load(std::memory_order_relaxed),
                                messages);
}

int32_t DurableTurn::BeginEnd(Process& process, Turn& turn, DurableState& state,
                              EndCause&& cause, uint64_t position) {
  // The outcome has the number of the store, which a restart does not change.
  process.steps.fetch_sub(std::exchange(state.queries, 0),
                          std::memory_order_relaxed);
  // The events that a failed step has taken are gone, in the journal too.
  Positions consumed;
  if (position == 0) {
    for (const Envelope* const event : inbox_.batch(turn)) {
      if (const uint64_t at = PositionOf(*event)) {
        consumed.list.push_back({.lsn = at});
      } else if (const auto unseen = state.unseen.find(event);
                 unseen != state.unseen.end()) {
        consumed.list.push_back({.lsn = unseen->second});
        state.unseen.erase(unseen);
      }
    }
    LogMailbox(process, turn, state);
  }
  inbox_.FreeBatch(turn);
  KeepUnseen(process, lane_,
             [&state](const Envelope& event) { state.unseen.erase(&event); });
  // The record of the end makes letters of them.
  for (const auto& [event, at] : state.unseen) {
    if (event->type == ACTORD_EVENT_MESSAGE) shared_.letters.Note(*event, at);
  }
  state.unseen.clear();
  StepRecord& record = caller_.record();
  Payload result =
      cause.kind == EndKind::kResult ? record.TakeResult() : Payload{};
  const Pid pid = PidOf(process, turn);
  if (const TraceContext* const trace = StepTrace::Of(TracedProcessOf(pid))) {
    Upgrading::Of(process).due_trace = *trace;
  }
  if (position == 0) {
    const absl::StatusOr<uint64_t> ended =
        durable().Append(records::Ended{.pid = pid,
                                        .end = EndOf(cause, result),
                                        .consumed = std::move(consumed)});
    // Without a record the process never ends. But then the journal has failed,
    // and the program is about to end.
    position = ended.ok() ? *ended : UINT64_MAX;
    if (ended.ok()) {
      CompleteSpawn(state, static_cast<int32_t>(cause.code), cause.message,
                    position);
    }
  }
  state.end = {std::move(cause), std::move(result), caller_.TakeFailedStep()};
  process.step_due = false;
  durable().releases().After(position, [&shared = shared_, pid] {
    struct Run run(Run::Kind::kUrgent,
                   shared.lane.NewEnvelope(kEventEndLogged, {}, {}),
                   Owner::kAny);
    if (shared.delivery.Post(pid, run, shared.lane) != Posted::kDelivered) {
      shared.lane.Free(run.first);
    }
  });
  return ACTORD_STEP_BLOCK;
}

int32_t DurableTurn::AwaitEnd(Process& process, Turn& turn,
                              DurableState& state) {
  bool is_logged = false;
  while (Envelope* event = Inbox::PopUrgent(process)) {
    is_logged |=
        event->type == kEventEndLogged && event->generation == turn.generation;
    lane_.Free(event);
  }
  process.step_due = false;
  if (!is_logged) return ACTORD_STEP_BLOCK;
  FailCalls(PidOf(process, turn), state);
  EndCause cause = std::move(state.end->cause);
  StepRecord& record = caller_.record();
  record.result = std::move(state.end->result);
  caller_.PutFailedStep(std::move(state.end->failed_step));
  record.has_said = true;
  // The process may not have run since the start; then its yields are still
  // expected.
  for (const records::YieldImage& yield : state.yields) {
    shared_.tasks.StopExpecting({PidOf(process, turn), yield.tag});
  }
  durable().Forget(process);
  // The failure names the trace of the step that has ended the process.
  std::optional<TraceContext> trace;
  if (process.upgrading != nullptr) trace = process.upgrading->due_trace;
  const TracedProcess self = TracedProcessOf(PidOf(process, turn));
  if (trace) StepTrace::Set(self, &*trace);
  teardown_.End(process, turn, std::move(cause));
  if (trace) StepTrace::Set(self, nullptr);
  return kHasEnded;
}

}  // namespace actord::runtime
