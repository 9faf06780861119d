// Makes the state of a durable process of a replay type again: runs Init and
// the steps of the journal with the recorded events and answers, and compares
// their effects with the recorded effects. The effects are not carried out
// again: the journal has them.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable_turn/state_images.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/record_format.h"
#include "runtime/step/recorded_world.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"

namespace actord::runtime {

class HistoryReplay {
 public:
  // All are borrowed. `images`: restores the image at which a history begins.
  HistoryReplay(const ProcessTable& processes, Calls& calls,
                BlockingCalls& blocking_calls, const StepCaller::Log& log,
                const LiveLimits& limits, StateImages& images, Lane& lane)
      : caller_(world_, processes, calls, nullptr, blocking_calls, log, limits,
                /*traces=*/nullptr, /*recordings=*/nullptr, lane),
        images_(images),
        lane_(lane) {}
  HistoryReplay(const HistoryReplay&) = delete;
  HistoryReplay& operator=(const HistoryReplay&) = delete;

  // Makes the state from the image, if any, and the history in `state`. An
  // error says which step differs from its record, and how; then the process
  // has no state. Precondition: the process has no state.
  absl::Status Run(Process& process, const Turn& turn,
                   const DurableState& state);
  // The step that differed from its record in the last Run; 0: Init did.
  // Nullopt: none differed.
  [[nodiscard]] std::optional<uint64_t> differs_at() const {
    return differs_at_;
  }

 private:
  absl::Status Init(Process& process, const Turn& turn,
                    const std::string& answers);
  absl::Status Step(Process& process, const Turn& turn,
                    const StepOfHistory& step);
  // Adds the yields whose completions the steps have seen. An error: the
  // history is damaged.
  absl::Status AddCompletedIn(const std::vector<StepOfHistory>& history,
                              YieldTags& tags);
  // How the step that has returned differs from its record; empty: it does not.
  // `bytes`: the encoded form of `recorded`.
  std::string Difference(const std::string& bytes,
                         const DecodedRecord& recorded);
  // Drops the effects of the call.
  void DropEffects();

  RecordedWorld world_;
  StepCaller caller_;
  std::optional<uint64_t> differs_at_;
  StateImages& images_;
  Lane& lane_;
};

// The events of a step, in the order in which the step had them. `whole`: the
// events whose contents are in the record. INVALID_ARGUMENT: the record
// contradicts itself.
absl::StatusOr<std::vector<actord_event>> EventsOf(
    const StepOfHistory& step, const std::vector<const actord_event*>& whole);

}  // namespace actord::runtime
