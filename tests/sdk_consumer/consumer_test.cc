// Loads the plugins that were built from the install tree, and runs them.
// install_and_build.cmake runs this and says where they are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "handlers/loader/plugin_loader.h"
#include "tests/support/fake_host.h"
#include "tests/support/fake_process.h"

namespace actord::handlers {
namespace {

using testing::FakeHost;
using testing::FakeProcess;
using testing::OwnedPayload;

std::unique_ptr<Plugin> LoadFrom(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr) throw std::runtime_error(variable);
  auto plugin = Plugin::Load(path);
  if (!plugin.ok()) throw std::runtime_error(plugin.status().ToString());
  return *std::move(plugin);
}

TEST(SdkConsumer, PluginInCppRuns) {
  const auto plugin = LoadFrom("ACTORD_TEST_CPP_PLUGIN");
  EXPECT_STREQ(plugin->info().name, "greeter");
  EXPECT_STREQ(plugin->info().version, "2.1");
  FakeHost host;
  const auto handlers = plugin->CreateHandlers(&host);
  ASSERT_TRUE(handlers.ok()) << handlers.status();
  const HandlerInstance& greet = handlers->instances().at(0);

  FakeProcess process(*plugin->process_types()[0]);
  ASSERT_EQ(process.Init("run", "Ada"), ACTORD_OK);
  ASSERT_EQ(process.Step(), ACTORD_STEP_BLOCK);
  ASSERT_EQ(process.yields.at(0).command, greet.descriptor->command);
  const auto& answer =
      host.Run(*greet.descriptor, greet.self, process.yields[0].payload.bytes);
  process.Complete(process.yields[0].tag, Payload::Text(answer.payload.bytes));
  ASSERT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result, (OwnedPayload{"Hello, Ada!", "text/plain"}));
}

TEST(SdkConsumer, PluginInCRuns) {
  const auto plugin = LoadFrom("ACTORD_TEST_C_PLUGIN");
  EXPECT_STREQ(plugin->info().name, "tally");
  FakeProcess process(*plugin->process_types()[0]);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  ASSERT_EQ(process.Step(), ACTORD_STEP_IDLE);
  process.Message("any");
  process.Message("any");
  ASSERT_EQ(process.Step(), ACTORD_STEP_IDLE);
  process.Message("any");
  process.Message("stop");
  ASSERT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result.bytes, "3");

  FakeHost host;
  const auto handlers = plugin->CreateHandlers(&host);
  ASSERT_TRUE(handlers.ok()) << handlers.status();
  const HandlerInstance& length = handlers->instances().at(0);
  EXPECT_EQ(host.Run(*length.descriptor, length.self, "four").payload.bytes,
            "4");
}

TEST(SdkConsumer, PluginInCRefusesAnInput) {
  const auto plugin = LoadFrom("ACTORD_TEST_C_PLUGIN");
  FakeProcess process(*plugin->process_types()[0]);
  EXPECT_EQ(process.Init("run", "x"), ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(process.failure_text, "a tally takes no input");
}

TEST(SdkConsumer, FirstPluginOfTheGuideRuns) {
  const auto plugin = LoadFrom("ACTORD_TEST_GUIDE_CPP_PLUGIN");
  EXPECT_STREQ(plugin->info().name, "door");
  FakeProcess door(*plugin->process_types()[0]);
  ASSERT_EQ(door.Init(), ACTORD_OK);
  door.Message("open");
  door.Message("open");
  ASSERT_EQ(door.Step(), ACTORD_STEP_IDLE);
  ASSERT_EQ(door.yields.size(), 1u);
  door.Complete(door.yields[0].tag);
  door.Message("open");
  door.Message("stop");
  ASSERT_EQ(door.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(door.result.bytes, "2");
}

TEST(SdkConsumer, CoroutineOfTheGuideRuns) {
  const auto plugin = LoadFrom("ACTORD_TEST_GUIDE_COROUTINE_PLUGIN");
  EXPECT_STREQ(plugin->info().name, "parcel");
  FakeProcess parcel(*plugin->process_types()[0]);
  ASSERT_EQ(parcel.Init("run", "book"), ACTORD_OK);
  ASSERT_EQ(parcel.Step(), ACTORD_STEP_IDLE);
  parcel.Message("paid", "receipt 7");
  ASSERT_EQ(parcel.Step(), ACTORD_STEP_BLOCK);
  auto yields = parcel.yields;
  ASSERT_EQ(yields.size(), 2u);
  parcel.Complete(yields[1].tag, "2 kg");
  parcel.Complete(yields[0].tag, "Main St. 1");
  ASSERT_EQ(parcel.Step(), ACTORD_STEP_BLOCK);
  yields = parcel.yields;
  ASSERT_EQ(yields.size(), 1u);
  EXPECT_EQ(yields[0].command, "parcel.ship");
  EXPECT_EQ(yields[0].payload.bytes, "Main St. 1, 2 kg");
  parcel.Complete(yields[0].tag, "lost", Code::kUnavailable);
  ASSERT_EQ(parcel.Step(), ACTORD_STEP_BLOCK);
  yields = parcel.yields;
  ASSERT_EQ(yields.size(), 1u);
  EXPECT_EQ(yields[0].command, "payment.refund");
  EXPECT_EQ(yields[0].payload.bytes, "receipt 7");
  parcel.Complete(yields[0].tag);
  EXPECT_EQ(parcel.Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(parcel.failure, Code::kUnavailable);
}

TEST(SdkConsumer, CPluginOfTheGuideRuns) {
  const auto plugin = LoadFrom("ACTORD_TEST_GUIDE_C_PLUGIN");
  FakeProcess hello(*plugin->process_types()[0]);
  ASSERT_EQ(hello.Init(), ACTORD_OK);
  ASSERT_EQ(hello.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(hello.result.bytes, "\"hello\"");
}

}  // namespace
}  // namespace actord::handlers
