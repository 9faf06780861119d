// A start with more processes than it reads together.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

TEST(ManyProcesses, ComeBackWithTheirImagesAndMailboxes) {
  DurableWorld world;
  ASSERT_EQ(world.Start(), absl::OkStatus());
  constexpr size_t kProcesses = 1100;
  std::vector<std::shared_ptr<std::optional<absl::StatusOr<Pid>>>> told;
  for (size_t i = 0; i < kProcesses; ++i) {
    told.push_back(world.Submit(std::to_string(i)));
  }
  world.Settle();
  // No step takes these.
  for (size_t i = 0; i < kProcesses; i += 3) {
    EXPECT_TRUE(world.Send(***told[i], "add", "5000").status.ok());
  }
  while (world.store->Work()) {
  }
  world.Crash(/*keep_cache=*/false);
  ASSERT_EQ(world.Start(), absl::OkStatus());
  for (size_t i = 0; i < kProcesses; ++i) {
    EXPECT_EQ(world.BalanceOf(***told[i]),
              std::to_string(i + (i % 3 == 0 ? 5000 : 0)));
  }
}

}  // namespace
}  // namespace actord::runtime
