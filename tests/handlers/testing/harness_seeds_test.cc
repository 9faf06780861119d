// The random choices of a harness, and its output when an expectation fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/handlers/testing/harness_fixture.h"

namespace actord::harness_test {
namespace {

TEST_F(HarnessTest, AnEndlessProcessIsStopped) {
  Harness harness(kPlugin, {.max_turns = 100});
  script = [](Events, StepOutput& out) { out.Continue(); };
  harness.Submit("scripted");
  EXPECT_THAT(WhatFails([&] { harness.Run(); }),
              HasSubstr("processes are still ready after 100"));
}

TEST_F(HarnessTest, TheHigherPriorityRunsFirst) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness(kPlugin, {.seed = seed});
    script = [](Events events, StepOutput& out) {
      if (!events.empty()) return;
      for (const int priority : {3, 31, 0, 16}) {
        ASSERT_FALSE(out.Spawn("child", {}, std::to_string(priority),
                               {.priority = priority})
                         .empty());
      }
    };
    const Pid parent = harness.Submit("scripted");
    harness.Run();
    EXPECT_EQ(harness.Live(), std::vector<Pid>{parent});
    const std::string trace = harness.Trace();
    EXPECT_LT(trace.find("'31'"), trace.find("'16'"));
    EXPECT_LT(trace.find("'16'"), trace.find("'3'"));
    EXPECT_LT(trace.find("'3'"), trace.find("'0'"));
  });
}

TEST_F(HarnessTest, ASeedGivesTheSameRunAndOthersGiveOthers) {
  const auto run = [](uint64_t seed) {
    seen.clear();
    Harness harness(kPlugin, {.seed = seed});
    script = [](Events events, StepOutput& out) {
      for (int i = 0; events.empty() && i < 6; ++i) {
        EXPECT_FALSE(out.Spawn("child", {}, std::to_string(i)).empty());
      }
      seen.push_back(std::to_string(out.random()));
    };
    harness.Submit("scripted");
    harness.Run();
    return harness.Trace();
  };
  std::set<std::string> traces;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string trace = run(seed);
    const auto seen_first = seen;
    EXPECT_EQ(run(seed), trace);
    EXPECT_EQ(seen, seen_first);
    traces.insert(trace);
  }
  EXPECT_GT(traces.size(), 15u);
}

TEST_F(HarnessTest, ForEachSeedNamesTheSeedThatFails) {
  EXPECT_THAT(WhatFails([] {
                ForEachSeed(10, [](uint64_t seed) {
                  if (seed == 7) throw std::runtime_error("unlucky");
                });
              }),
              HasSubstr("seed 7: unlucky"));
}

TEST_F(HarnessTest, FailedExpectationDescribesTheHistory) {
  Harness harness(kPlugin);
  script = [](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield("payment.charge");
    } else {
      out.Done("early");
    }
  };
  const Pid pid = harness.Submit("scripted");
  const std::string waits = WhatFails([&] { harness.ExpectEnded(pid); });
  EXPECT_THAT(waits, HasSubstr("waits for payment.charge"));
  EXPECT_THAT(waits, HasSubstr("scripted 1.1.1.1 yields payment.charge"));
  harness.Deliver(pid, "go");
  EXPECT_THAT(WhatFails([&] { harness.ExpectFailed(pid, Code::kAborted); }),
              HasSubstr("with the result 'early'"));
  EXPECT_THAT(WhatFails([&] { harness.Deliver(pid, "late"); }),
              HasSubstr("is not alive"));
  const Pid probe = harness.Probe();
  EXPECT_THAT(WhatFails([&] { harness.ExpectMessage(probe, "x"); }),
              HasSubstr("no message 'x'"));
}

}  // namespace
}  // namespace actord::harness_test
