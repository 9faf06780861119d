// Relations between processes in a harness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/handlers/testing/harness_fixture.h"

namespace actord::harness_test {
namespace {

using ::testing::Contains;

// Describes an exit event.
std::string Describe(const Event& event) {
  return std::to_string(event.tag()) + " " +
         std::to_string(static_cast<int>(event.exit_reason())) + " " +
         std::string(event.payload().bytes);
}

TEST_F(HarnessTest, ACallIsAnsweredOnce) {
  Harness harness(kPlugin);
  script = [](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (!event.is_message()) continue;
      EXPECT_NE(event.call(), 0u);
      if (event.topic() == "twice") {
        out.Reply(event.call(), "first");
        out.Reply(event.call(), "second");
      }
      if (event.topic() == "refuse") {
        out.ReplyError(event.call(), Code::kOutOfRange, "too far");
      }
      if (event.topic() == "end") out.Done("without an answer");
    }
  };
  const Pid pid = harness.Submit("scripted");
  EXPECT_EQ(harness.Call(pid, "twice")->bytes, "first");
  const Result<> refused = harness.Call(pid, "refuse");
  EXPECT_EQ(refused.status().code(), Code::kOutOfRange);
  EXPECT_EQ(refused.status().message(), "too far");
  EXPECT_THAT(WhatFails([&] { (void)harness.Call(pid, "silence").ok(); }),
              HasSubstr("has not answered 'silence'"));
  EXPECT_EQ(harness.Call(pid, "end").status().code(), Code::kAborted);
}

TEST_F(HarnessTest, AProcessCallsAProbeOrAName) {
  Harness harness(kPlugin);
  const Pid probe = harness.Probe();
  script = [&](Events events, StepOutput& out) {
    if (!events.empty()) return out.Block();
    out.Block();
    out.Call(probe, "question", "q");
    out.Call(std::string_view("nobody"), "question", "q");
    out.Call(Pid(actord_pid{1, 1, 99, 1}), "question", "q");
    const Tag given_up = out.Call(probe, "given up");
    out.CancelYield(given_up);
  };
  harness.Submit("scripted");
  const auto question = harness.ExpectMessage(probe, "question");
  EXPECT_TRUE(harness.Reply(question, "answer"));
  EXPECT_FALSE(harness.Reply(question, "again"));
  harness.Run();
  EXPECT_THAT(seen, Contains("#1 OK answer"));
  EXPECT_THAT(seen, Contains(HasSubstr("#2 NOT_FOUND")));
  EXPECT_THAT(seen, Contains(HasSubstr("#3 NOT_FOUND")));
  EXPECT_THAT(seen, Contains(HasSubstr("#4 CANCELLED")));
}

TEST_F(HarnessTest, AMonitorHearsOfTheEndOnce) {
  Harness harness(kPlugin);
  std::vector<std::string> exits;
  Pid child;
  script = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_exit()) exits.push_back(Describe(event));
    }
    if (!events.empty()) return;
    child = out.Spawn("child", {}, "well");
    EXPECT_EQ(out.Monitor(child), 1u);
    EXPECT_EQ(out.Monitor(actord_pid{1, 1, 99, 1}), 2u);
    out.Demonitor(out.Monitor(child));
  };
  harness.Submit("scripted");
  harness.Run();
  EXPECT_THAT(exits, ::testing::UnorderedElementsAre(
                         "1 1 well", HasSubstr("2 7 there is no process")));
  EXPECT_THAT(seen, ElementsAre("child")) << "the message came first";
}

TEST_F(HarnessTest, ALinkPassesAFailureOnAndNoGoodEnd) {
  Harness harness(kPlugin);
  Pid partner;
  script = [&](Events events, StepOutput& out) {
    if (events.empty() && out.parent().empty() && !partner.empty() &&
        out.self() != partner) {
      out.Link(partner);
    }
    for (const Event event : events) {
      if (event.topic() == "fail") out.Fail(Code::kDataLoss, "broken");
      if (event.topic() == "done") out.Done();
    }
  };
  for (const bool fails : {true, false}) {
    partner = {};
    partner = harness.Submit("scripted");
    const Pid linked = harness.Submit("scripted");
    harness.Run();
    harness.Deliver(partner, fails ? "fail" : "done");
    harness.Run();
    EXPECT_EQ(harness.IsLive(linked), !fails);
    if (fails) {
      EXPECT_THAT(harness.ExpectFailed(linked, Code::kAborted),
                  HasSubstr("has failed: broken"));
    }
  }
}

TEST_F(HarnessTest, NamesAndGroupsEndWithTheirProcess) {
  Harness harness(kPlugin);
  script = [](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "stop") out.Done();
    }
    if (!events.empty()) return;
    out.Yield(commands::RegisterName("orders/1"));
    out.Yield(commands::JoinGroup("all"));
    out.Yield(commands::LookUpName("orders/1"));
    out.Yield(
        commands::Spawn("scripted.uncancelled", "", "", {.name = "orders/2"}));
    out.Yield(
        commands::Spawn("scripted.uncancelled", "", "", {.name = "orders/1"}));
  };
  const Pid first = harness.Submit("scripted");
  harness.Run();
  EXPECT_EQ(harness.HolderOf("orders/1"), first);
  EXPECT_EQ(harness.Live("scripted.uncancelled"),
            std::vector<Pid>{harness.HolderOf("orders/2")});
  EXPECT_THAT(seen, Contains(HasSubstr("#5 ALREADY_EXISTS")));
  script = [](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "stop") out.Done();
    }
    if (events.empty()) out.Yield(commands::RegisterName("orders/1"));
  };
  const Pid second = harness.Submit("scripted");
  harness.Run();
  EXPECT_EQ(harness.HolderOf("orders/1"), first);
  EXPECT_THAT(seen, Contains(HasSubstr("#1 ALREADY_EXISTS")));
  harness.Deliver(first, "stop");
  harness.Run();
  EXPECT_TRUE(harness.HolderOf("orders/1").empty());
  EXPECT_TRUE(harness.IsLive(second));
}

TEST_F(HarnessTest, ASpawnByCommandTiesItsChild) {
  Harness harness(kPlugin);
  std::vector<std::string> exits;
  script = [&](Events events, StepOutput& out) {
    if (out.parent().empty()) {
      for (const Event event : events) {
        if (!event.is_exit()) continue;
        exits.push_back(std::to_string(event.tag()) + " " +
                        std::string(event.payload().bytes));
      }
      if (!events.empty()) return;
      out.Yield(commands::Spawn("scripted", "", "", {.monitor = true}));
      out.Yield(
          commands::Spawn("scripted", "refuse", "once", {.monitor = true}));
    } else {
      for (const Event event : events) {
        if (event.topic() == "fail") out.Fail(Code::kDataLoss, "broken");
      }
    }
  };
  const Pid parent = harness.Submit("scripted");
  harness.Run();
  EXPECT_THAT(seen, Contains(HasSubstr("#2 INVALID_ARGUMENT refuses once")));
  const std::vector<Pid> live = harness.Live();
  ASSERT_EQ(live.size(), 2u);
  harness.Deliver(live[live[0] == parent ? 1 : 0], "fail");
  harness.Run();
  EXPECT_THAT(exits, ElementsAre("1 broken"))
      << "with the tag of the yield, and not of the one that was refused";
}

TEST_F(HarnessTest, AChildThatComesTooLateForItsParentIsTerminated) {
  for (const bool linked : {true, false}) {
    Harness harness(kPlugin);
    script = [&](Events events, StepOutput& out) {
      if (!out.parent().empty() || !events.empty()) return;
      const Tag spawn =
          out.Yield(commands::Spawn("scripted", "", "", {.link = linked}));
      out.CancelYield(spawn);
    };
    harness.Submit("scripted");
    harness.Run();
    EXPECT_EQ(harness.Live().size(), linked ? 1u : 2u);
  }
}

TEST_F(HarnessTest, CancelsAndTerminatesByCommand) {
  Harness harness(kPlugin);
  Pid other;
  script = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      const std::string pid = out.FormatPid(other);
      if (event.topic() == "cancel") out.Yield(commands::Cancel(pid, "please"));
      if (event.topic() == "end") out.Yield(commands::Terminate(pid, "now"));
    }
  };
  other = harness.Submit("scripted");
  const Pid one = harness.Submit("scripted");
  harness.Deliver(one, "cancel");
  harness.Run();
  EXPECT_THAT(seen, Contains("cancel please"));
  EXPECT_TRUE(harness.IsLive(other));
  harness.Deliver(one, "end");
  EXPECT_EQ(harness.ExpectFailed(other, Code::kAborted), "now");
  EXPECT_EQ(harness.OutcomeOf(other)->kind, EndKind::kTerminated);
  harness.Deliver(one, "end");
  harness.Run();
  EXPECT_THAT(seen, Contains(HasSubstr("FAILED_PRECONDITION")));
}

}  // namespace
}  // namespace actord::harness_test
