// The beginning of a process: memory for its state, its input, and the answer
// to its submitter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/turn/abi_process_fixture.h"

namespace actord::runtime {
namespace {

// Small states lie in the process, where the callback of its submission lay,
// and large ones in buffers.
TEST_F(AbiProcess, StateIsZeroedAlignedAndItsOwn) {
  for (const size_t size : {0, 1, 64, 65, 72}) {
    SCOPED_TRACE(size);
    Start();
    static actord_process_type sized;
    sized = TypeOf<a_>("sized");
    sized.state_size = size;
    ASSERT_TRUE(core_->catalog.AddProcessType(&sized, "test").ok());
    std::set<void*> states;
    a_.init = [&](void* state, const actord_init* init, actord_step*) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(state) % 64, 0u);
      const auto* bytes = static_cast<const unsigned char*>(state);
      EXPECT_TRUE(
          std::all_of(bytes, bytes + size, [](auto b) { return b == 0; }));
      EXPECT_TRUE(states.insert(state).second);
      std::memset(state, 0xee, size);
      EXPECT_EQ(init->struct_size, sizeof(actord_init));
      EXPECT_EQ(View(init->input.bytes), "input");
      EXPECT_EQ(View(init->input.content_type), "text/plain");
      return ACTORD_OK;
    };
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(Submit("sized").ok());
    // Memory that was used before is zeroed again.
    a_.step = [](auto, actord_step*) { return ACTORD_STEP_DONE; };
    for (int i = 0; i < 10; ++i) {
      states.clear();
      EXPECT_TRUE(Submit("sized").ok());
    }
    core_ = nullptr;
  }
}

TEST_F(AbiProcess, InitGetsEmptyInputWithItsContentType) {
  Start();
  std::vector<std::pair<std::string, std::string>> seen;
  a_.init = [&](void*, const actord_init* init, actord_step*) {
    seen.emplace_back(View(init->input.bytes), View(init->input.content_type));
    return ACTORD_OK;
  };
  for (const Payload& input : {Payload{}, Payload{"", "text/plain"}}) {
    EXPECT_TRUE(Submit("a", {}, input).ok());
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(::testing::Pair("", ""),
                                           ::testing::Pair("", "text/plain")));
}

// An Init that fills its state and then fails, and an end before Init: the
// submitter is answered once, although the state uses the memory of the
// callback.
TEST_F(AbiProcess, SubmitterIsToldThatInitFailed) {
  Start();
  static actord_process_type small;
  small = TypeOf<a_>("small");
  small.state_size = 64;
  ASSERT_TRUE(core_->catalog.AddProcessType(&small, "test").ok());
  a_.init = [](void* state, const actord_init*, actord_step* step) -> int32_t {
    std::memset(state, 0xee, 64);
    step->api->set_failure(step, ACTORD_ABORTED, ToAbi(std::string_view("no")));
    return ACTORD_ABORTED;
  };
  EXPECT_EQ(Submit("small", {}, {}).status().code(),
            absl::StatusCode::kAborted);
  a_.init = [](void* state, const actord_init*, actord_step*) -> int32_t {
    std::memset(state, 0xee, 64);
    throw std::runtime_error("no");
  };
  EXPECT_EQ(Submit("small").status().code(), absl::StatusCode::kInternal);
  core_->core->orders.terminate = true;
  EXPECT_EQ(Submit("small", {}, {}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(a_.closes, 0);
}

TEST_F(AbiProcess, ANameThatIsTakenCostsNothingOfWhatHasNoInput) {
  Start();
  for (const bool taken : {false, true}) {
    std::vector<absl::Status> answers;
    core_->core->admission.Submit(SubmitRequest{.process_type = "a",
                                                .method = "",
                                                .input = {},
                                                .messages = {{"topic", {}}},
                                                .name = "name"},
                                  Pid{}, true, [&](absl::StatusOr<Pid> pid) {
                                    answers.push_back(pid.status());
                                  });
    core_->Settle();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].ok(), !taken);
  }
  EXPECT_EQ(core_->core->LiveProcesses(), 1u);
}

}  // namespace
}  // namespace actord::runtime
