// The example plugins refuse payloads of the greatest length without repeating
// them.
#include <gtest/gtest.h>

#include <string>

#include "tests/handlers/plugins/plugged.h"

namespace {

using actord::Code;
using actord::OwnedPayload;
using actord::Pid;
using actord::testing::HarnessOptions;
using actord::testing::Plugged;

// The longest there may be: an answer that repeated it would be too long, and
// its step would fail.
TEST(CounterTest, NoErrorRepeatsAWholePayload) {
  Plugged harness("counter");
  const std::string longest(HarnessOptions().max_payload_bytes, 'x');
  const Pid probe = harness.Probe();
  const Pid counter = harness.Submit("counter");
  harness.Deliver(counter, "add", longest, probe);
  EXPECT_LT(harness.ExpectMessage(probe, "error").payload.bytes.size(), 100u);
  harness.Deliver(counter, std::string(1024, 't'), longest, probe);
  EXPECT_LT(harness.ExpectMessage(probe, "error").payload.bytes.size(), 200u);
  EXPECT_LT(harness.Call(counter, "add", longest).error().message.size(), 100u);
  harness.Deliver(counter, "add", longest);
  harness.Run();
  ASSERT_EQ(harness.log().size(), 1u);
  EXPECT_LT(harness.log()[0].text.size(), 200u);
  EXPECT_TRUE(harness.IsLive(counter));
  EXPECT_LT(
      harness.ExpectRefused(Code::kInvalidArgument, "counter", "run", longest)
          .size(),
      150u);
}

TEST(ExamplePlugins, NoRefusalRepeatsAWholeInput) {
  const std::string longest =
      "\"" + std::string(HarnessOptions().max_payload_bytes - 1, 'x');
  for (const char* type : {"wordcount", "order"}) {
    Plugged harness(type);
    EXPECT_LT(harness
                  .ExpectRefused(Code::kInvalidArgument, type, "run",
                                 OwnedPayload(longest, "application/json"))
                  .size(),
              400u)
        << type;
  }
}

}  // namespace
