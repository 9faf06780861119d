// Processes as the ABI has them, below the C++ SDK. Workers run by hand.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {

// The two process types under test, "a" and "b", are what these say.
struct Raw {
  std::function<int32_t(void*, const actord_init*, actord_step*)> init;
  std::function<int32_t(std::vector<const actord_event*>, actord_step*)> step;
  int closes = 0;
};

class AbiProcess : public ::testing::Test {
 protected:
  static inline Raw a_, b_;

  template <Raw& raw>
  static actord_process_type TypeOf(const char* name) {
    static constexpr actord_method kMethods[] = {{"run", nullptr}};
    actord_process_type type{};
    type.struct_size = sizeof(type);
    type.name = name;
    type.state_size = 72;
    type.state_align = 64;
    type.methods = kMethods;
    type.method_count = 1;
    type.init = [](void* state, const actord_init* init, actord_step* step) {
      return raw.init ? raw.init(state, init, step) : int32_t{ACTORD_OK};
    };
    type.step = [](void*, const actord_event* const* events, size_t count,
                   actord_step* step) {
      return raw.step ? raw.step({events, events + count}, step)
                      : int32_t{ACTORD_STEP_IDLE};
    };
    type.close = [](void*) { ++raw.closes; };
    return type;
  }

  void Start(RuntimeOptions options = {}) {
    a_ = b_ = {};
    options.external_commands = {"ext"};
    core_ = std::make_unique<SteppedCore>(1, options);
    ASSERT_TRUE(core_->catalog.AddProcessType(&type_a_, "test").ok());
    ASSERT_TRUE(core_->catalog.AddProcessType(&type_b_, "test").ok());
  }
  absl::StatusOr<Pid> Submit(const char* type,
                             std::vector<Message> messages = {},
                             Payload input = {"input", "text/plain"}) {
    absl::StatusOr<Pid> answer = absl::InternalError("no answer");
    core_->core->admission.Submit(
        SubmitRequest{type, "", std::move(input), std::move(messages)}, Pid{},
        true, [&](absl::StatusOr<Pid> pid) { answer = std::move(pid); });
    core_->Settle();
    return answer;
  }
  // Submits, runs until nothing is left to do, and tells how it ended.
  std::optional<Outcome> Run(const char* type) {
    const absl::StatusOr<Pid> pid = Submit(type);
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.ok() ? OutcomeOf(*pid) : std::nullopt;
  }
  std::optional<Outcome> OutcomeOf(const Pid& pid) {
    std::optional<Outcome> result;
    core_->core->results.Await(
        Owner::kAny, pid,
        [&](absl::StatusOr<Outcome> outcome) {
          if (outcome.ok()) result = *std::move(outcome);
        },
        [] { return false; }, [] { return absl::NotFoundError("none"); });
    return result;
  }

  static inline const actord_process_type type_a_ = TypeOf<a_>("a");
  static inline const actord_process_type type_b_ = TypeOf<b_>("b");
  std::unique_ptr<SteppedCore> core_;
};

}  // namespace actord::runtime
