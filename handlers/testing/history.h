// The inputs and the effects of a process of a harness, step by step, so that
// the harness can run the steps again in another state.
//
// Thread-safety: none. Ownership: owns everything.
#pragma once

#include <actord/testing.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/testing/effect.h"

namespace actord::testing {

// The answers that one call into a process got from its context.
struct Answers {
  uint64_t now_ns = 0;
  Tag first_tag = 1;
  std::vector<uint64_t> random;
  // The PIDs of children; empty() where there was no room.
  std::vector<Pid> spawned;
  // The holders of names; empty() where there was none.
  std::vector<Pid> holders;
  // The return values of adopt_yield.
  std::vector<int32_t> adopted;
};

// How a process begins again.
struct NextLife {
  std::string method;  // empty: the method stays the same
  OwnedPayload input;
  std::vector<OwnedEvent> unseen;
};

// How a step ended.
struct StepEnd {
  int32_t verdict = 0;
  // For a failed step: the text of an exception, a broken rule, or the failure
  // that the process has set.
  Status failure;
  // For a step that did not fail.
  std::vector<Effect> effects;
  // For a step that ended the process with a result.
  OwnedPayload result;
  // For a step with ACTORD_STEP_CONTINUE_AS.
  std::optional<NextLife> next_life;
};

struct StepLog {
  // The first step is 1.
  uint64_t number = 0;
  std::vector<OwnedEvent> events;
  Answers answers;
  StepEnd end;
};

// How a state began: by Init, or by Restore after an upgrade.
struct Beginning {
  Answers answers;
  uint32_t method = 0;
  // Init: the input. Restore: the snapshot, and the version that it comes from.
  OwnedPayload payload;
  std::optional<std::string> restored_from;
};

struct History {
  Beginning beginning;
  // For a type with Durability::kReplay: all steps since the beginning.
  std::vector<StepLog> steps;
  // A second state of the process. Image types: the state that has never
  // crashed. Replay types: the state in which all `steps` were run again.
  StateMemory shadow{nullptr, Freed{}};
};

// The first difference between how a step ended and how the same step ended
// when it was run again. Names the part that differs (an effect, the verdict,
// the result or the failure) and both values, each after its label. nullopt:
// there is none.
std::optional<std::string> DifferenceOf(const StepEnd& first,
                                        std::string_view first_label,
                                        const StepEnd& again,
                                        std::string_view again_label);

}  // namespace actord::testing
