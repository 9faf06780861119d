// Scopes alone, and a Hold whose calls a test announces by hand.
#include "runtime/crash/running_code.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "runtime/process/process.h"

namespace actord::runtime {
namespace {

TEST(PluginScope, TellsTheInnermostCodeUntilItEnds) {
  EXPECT_FALSE(RunningCodeHere());
  {
    const PluginScope outer({.plugin = "orders", .function = "create"});
    {
      const PluginScope inner({.file = "/x.so", .function = "initialisers"});
      EXPECT_EQ(RunningCodeHere()->file, "/x.so");
      EXPECT_EQ(RunningCodeHere()->plugin, "");
    }
    EXPECT_EQ(RunningCodeHere()->plugin, "orders");
  }
  EXPECT_FALSE(RunningCodeHere());
}

TEST(PluginScope, ConcernsItsThreadAlone) {
  const PluginScope scope({.plugin = "orders"});
  bool has_code = true;
  std::thread([&has_code] { has_code = RunningCodeHere().has_value(); }).join();
  EXPECT_FALSE(has_code);
}

class LaneCode : public ::testing::Test {
 protected:
  void SetUp() override {
    type_.name = "order";
    type_.plugin = "orders";
    type_.version = "1.4.0";
    handler_.name = "order.price";
    handler_.plugin = "prices";
    handler_.version = "2.0";
    process_.type.store(&type_);
    process_.slot.store(0x2a);
    process_.generation.store(3);
  }

  BufferPool buffers_;
  Lane lane_{buffers_, Lane::Use::kOneThread};
  ProcessType type_;
  CommandHandler handler_;
  Process process_;
  ProcessTable processes_{1, 0x5f3a90c2, /*limit=*/1, /*caches=*/1};
  std::optional<LaneScope> scope_{std::in_place, lane_, processes_};
};

TEST_F(LaneCode, IsTheCallUnderWayIntoAProcess) {
  EXPECT_FALSE(RunningCodeHere());
  lane_.hold().Enter(process_, "Step");
  const auto code = RunningCodeHere();
  ASSERT_TRUE(code);
  EXPECT_EQ(code->plugin, "orders");
  EXPECT_EQ(code->version, "1.4.0");
  EXPECT_EQ(code->function, "Step");
  EXPECT_EQ(code->command, "");
  EXPECT_EQ(code->process_type, "order");
  EXPECT_EQ(FormatPid(code->pid), "1.5f3a90c2.2a.3");
  lane_.hold().Leave();
  EXPECT_FALSE(RunningCodeHere());
}

TEST_F(LaneCode, InlineHandlerIsNamedWithItsPlugin) {
  lane_.last_command = &handler_;
  lane_.hold().Enter(process_, Hold::kInlineHandler);
  const auto code = RunningCodeHere();
  ASSERT_TRUE(code);
  EXPECT_EQ(code->plugin, "prices");
  EXPECT_EQ(code->version, "2.0");
  EXPECT_EQ(code->command, "order.price");
  EXPECT_EQ(code->process_type, "order");
  lane_.hold().Leave();
}

TEST_F(LaneCode, EndingProcessIsNamedByItsFormerPid) {
  process_.generation.store(4);
  lane_.hold().Enter(process_, "Close");
  EXPECT_EQ(FormatPid(RunningCodeHere()->pid), "1.5f3a90c2.2a.3");
  lane_.hold().Leave();
}

TEST_F(LaneCode, DuringAnUpgradeIsOfTheNewVersion) {
  ProcessType newer;
  newer.name = "order";
  newer.plugin = "orders";
  newer.version = "1.5.0";
  lane_.hold().Enter(process_, "Restore");
  {
    const VersionScope scope(newer);
    EXPECT_EQ(RunningCodeHere()->version, "1.5.0");
  }
  EXPECT_EQ(RunningCodeHere()->version, "1.4.0");
  lane_.hold().Leave();
}

TEST_F(LaneCode, EndsWithItsScope) {
  lane_.hold().Enter(process_, "Step");
  scope_.reset();
  EXPECT_FALSE(RunningCodeHere());
  lane_.hold().Leave();
}

}  // namespace
}  // namespace actord::runtime
