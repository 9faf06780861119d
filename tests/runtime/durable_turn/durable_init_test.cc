// Events that come for a durable process while its Init runs.
#include <actord/plugin.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

// Calls `in_init` in Init, and ends with the number of the step that gets a
// cancel.
class Slow : public actord::Process {
 public:
  static constexpr const char* kName = "slow";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  static constexpr bool kHandlesCancel = true;
  struct State {
    int32_t steps = 0;
  };
  State state;

  static inline std::function<void()> in_init;

  void Init(std::string_view /*method*/, const actord::Payload& /*input*/) {
    if (auto call = std::exchange(in_init, nullptr)) call();
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    ++state.steps;
    for (const actord::Event event : events) {
      if (event.is_cancel()) out.Done(std::to_string(state.steps));
    }
  }
};

TEST(DurableInit, CancelDuringInitIsSeenInTheFirstStep) {
  DurableWorld world;
  world.more_types = {&actord::kProcessType<Slow>};
  ASSERT_EQ(world.Start(), absl::OkStatus());
  Slow::in_init = [&world] {
    int live = 0;
    Runtime::Core& core = world.runtime();
    core.processes.ForEachLive(
        0, UINT32_MAX, [&](const Process& process, uint32_t generation) {
          ++live;
          const Pid pid = core.processes.PidOf(process, generation);
          EXPECT_TRUE(
              core.Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "enough")
                  .status.ok());
          return true;
        });
    EXPECT_EQ(live, 1);
  };
  const auto told = world.Submit("", "", true, "slow");
  world.Settle();
  ASSERT_TRUE(told->has_value() && (*told)->ok());
  const auto end = world.Await(***told);
  world.Settle();
  ASSERT_TRUE(end->has_value() && (*end)->ok()) << "it has not ended";
  EXPECT_EQ((**end)->result.bytes, "1");
}

}  // namespace
}  // namespace actord::runtime
