// Tests of the harness for plugin authors, with process types of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/handlers/testing/harness_fixture.h"

namespace actord::harness_test {
namespace {

using namespace std::chrono_literals;

TEST_F(HarnessTest, StartsRefusesAndNamesWhatThereIsNot) {
  Harness harness(kPlugin);
  const Pid pid = harness.Submit("scripted");
  EXPECT_TRUE(harness.IsLive(pid));
  EXPECT_EQ(harness.Live("scripted"), std::vector<Pid>{pid});
  EXPECT_TRUE(harness.Live("child").empty());
  EXPECT_EQ(harness.ExpectRefused(Code::kInvalidArgument, "scripted", "refuse",
                                  "this"),
            "refuses this");
  EXPECT_THAT(WhatFails([&] {
                harness.ExpectRefused(Code::kAborted, "scripted", "refuse");
              }),
              HasSubstr("not with ABORTED"));
  EXPECT_THAT(WhatFails([&] { harness.Submit("scripted", "refuse"); }),
              HasSubstr("INVALID_ARGUMENT: refuses"));
  EXPECT_THAT(
      WhatFails([&] { harness.ExpectRefused(Code::kAborted, "scripted"); }),
      HasSubstr("started"));
  EXPECT_THAT(WhatFails([&] { harness.Submit("none"); }), HasSubstr("'none'"));
  EXPECT_THAT(WhatFails([&] { harness.Submit("child", "walk"); }),
              HasSubstr("'walk'"));
}

TEST_F(HarnessTest, AHandlerSpawnsWithAPriorityThatThereIs) {
  Harness harness(kPlugin);
  script = [](Events events, StepOutput& out) {
    if (!events.empty()) return out.Idle();
    out.Yield("test.spawn", "31");
    out.Yield("test.spawn", "32");
    out.Block();
  };
  harness.Submit("scripted");
  harness.Run();
  EXPECT_THAT(
      seen, ::testing::UnorderedElementsAre(
                HasSubstr("#1 OK"), HasSubstr("#2 INVALID_ARGUMENT"), "child"));
}

TEST_F(HarnessTest, AStepIsATransaction) {
  Harness harness(kPlugin);
  const Pid probe = harness.Probe();
  bool fails = true;
  script = [&](Events events, StepOutput& out) {
    if (events.empty()) return;
    out.Send(probe, "hello");
    EXPECT_FALSE(out.Spawn("child", {}, "x").empty());
    EXPECT_EQ(out.Yield("payment.charge"), 1u);
    if (fails) throw std::runtime_error("oops");
    out.Done("well");
  };
  const Pid failing = harness.Submit("scripted");
  harness.Deliver(failing, "go");
  EXPECT_EQ(harness.ExpectFailed(failing, Code::kInternal), "Step threw: oops");
  EXPECT_EQ(harness.OutcomeOf(failing)->kind, EndKind::kThrew);
  EXPECT_EQ(harness.MessagesAt(probe), 0u);
  EXPECT_TRUE(harness.Held().empty());
  EXPECT_TRUE(harness.Live().empty());

  fails = false;
  const Pid good = harness.Submit("scripted");
  harness.Deliver(good, "go");
  EXPECT_EQ(harness.ExpectResult(good).bytes, "well");
  EXPECT_EQ(harness.ExpectMessage(probe, "hello").from, good);
  EXPECT_TRUE(harness.Held().empty()) << "its yields end with a process";
  EXPECT_EQ(harness.dead_letters(), 1u) << "of the child, to the ended parent";
}

TEST_F(HarnessTest, TimePassesOnlyWithAdvance) {
  Harness harness(kPlugin);
  const auto start = harness.now();
  std::vector<std::chrono::milliseconds> at;
  script = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield(actord::commands::Sleep(2h));
      out.Yield(actord::commands::Sleep(1ms));
      out.Yield("payment.charge", {},
                {.timeout = 1h, .policy = {.max_attempts = 2, .lease = 5s}});
      return;
    }
    at.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(
        out.now() - start));
  };
  harness.Submit("scripted");
  harness.Run();
  EXPECT_EQ(harness.ExpectHeld("payment.charge").deadline, start + 1h);
  EXPECT_EQ(harness.ExpectHeld("payment.charge").policy,
            (actord::WorkPolicy{.max_attempts = 2, .lease = 5s}));
  EXPECT_TRUE(at.empty());
  harness.Advance(59min);
  EXPECT_THAT(at, ElementsAre(1ms));
  harness.Advance(1min);
  EXPECT_THAT(at, ElementsAre(1ms, 1h));
  EXPECT_TRUE(harness.Held().empty()) << "timed out";
  harness.Advance(24h);
  EXPECT_THAT(at, ElementsAre(1ms, 1h, 2h));
  EXPECT_THAT(
      seen, ElementsAre("#2 OK ", "#3 DEADLINE_EXCEEDED timed out", "#1 OK "));
  EXPECT_EQ(harness.now(), start + 25h);
}

TEST_F(HarnessTest, HeldYieldIsCompletedOnce) {
  Harness harness(kPlugin, {.yield_timeout = 10s});
  script = [&](Events events, StepOutput& out) {
    if (!events.empty()) return;
    out.Yield("payment.charge", "first");
    out.Yield("payment.charge", "second");
    out.Yield("payment.refund");
  };
  const Pid pid = harness.Submit("scripted");
  const HeldYield first = harness.ExpectHeld("payment.charge");
  EXPECT_EQ(first.pid, pid);
  EXPECT_EQ(first.payload.bytes, "first");
  EXPECT_EQ(harness.Held("payment.charge").size(), 2u);
  EXPECT_TRUE(harness.Complete(first, "paid"));
  EXPECT_FALSE(harness.Complete(first, "paid again"));
  harness.FailNext("payment.charge", Code::kAborted, "no money");
  EXPECT_THAT(WhatFails([&] { harness.CompleteNext("payment.charge"); }),
              HasSubstr("processes wait for: payment.refund"));
  const HeldYield refund = harness.ExpectHeld("payment.refund");
  harness.Advance(10s);
  EXPECT_FALSE(harness.Complete(refund));
  EXPECT_THAT(seen, ElementsAre("#1 OK paid", "#2 ABORTED no money",
                                "#3 DEADLINE_EXCEEDED timed out"));
}

TEST_F(HarnessTest, HandlersStubsAndHoldsCarryCommandsOut) {
  Harness harness(kPlugin);
  script = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_message()) out.Yield("text.upper", event.topic());
    }
  };
  const Pid pid = harness.Submit("scripted");
  harness.Deliver(pid, "abc");
  harness.Deliver(pid, "");
  harness.Run();
  harness.Stub("text.upper", [](const HeldYield& yield) -> Result<> {
    if (yield.payload.bytes == "x") return Status(Code::kDataLoss, "stubbed");
    return OwnedPayload("stub of " + yield.payload.bytes);
  });
  harness.Deliver(pid, "x");
  harness.Run();
  harness.Deliver(pid, "y");
  harness.Run();
  harness.Hold("text.upper");
  harness.Deliver(pid, "z");
  harness.CompleteNext("text.upper", "held");
  harness.Run();
  EXPECT_THAT(seen, ::testing::Contains("#1 OK ABC"));
  EXPECT_THAT(seen, ::testing::Contains(HasSubstr("INTERNAL")));
  EXPECT_THAT(seen, ::testing::Contains("#3 DATA_LOSS stubbed"));
  EXPECT_THAT(seen, ::testing::Contains("#4 OK stub of y"));
  EXPECT_THAT(seen, ::testing::Contains("#5 OK held"));
}

TEST_F(HarnessTest, BuiltInCommandsActAsInTheDaemon) {
  Harness harness(kPlugin);
  const Pid probe = harness.Probe();
  script = [&](Events events, StepOutput& out) {
    if (!events.empty()) return;
    using namespace actord::commands;  // NOLINT: those of the test
    out.Yield(Log("warning", "look"));
    out.Yield(Send(out.FormatPid(probe), "topic", "text"));
    out.Yield(Send("1.1.77.1", "topic", "text"));
    out.Yield(Spawn("child", "", "born"));
    out.Yield(Spawn("child", "", "refuse"));
    out.Yield("timer.sleep", R"({"duration_ms":-1})");
  };
  const Pid pid = harness.Submit("scripted");
  EXPECT_EQ(harness.ExpectMessage(probe, "topic").payload.bytes, "text");
  ASSERT_EQ(harness.log().size(), 1u);
  EXPECT_EQ(harness.log()[0].level, actord::LogLevel::kWarning);
  EXPECT_THAT(harness.log()[0].text, HasSubstr("look"));
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 7u);
  EXPECT_THAT(seen, ::testing::Contains("child"));
  EXPECT_THAT(seen, ::testing::Contains(R"(#2 OK {"delivered":true})"));
  EXPECT_THAT(seen,
              ::testing::Contains("#3 NOT_FOUND there is no process 1.1.77.1"));
  EXPECT_THAT(seen, ::testing::Contains("#4 OK 1.1.3.1"));
  EXPECT_THAT(seen, ::testing::Contains("#5 INVALID_ARGUMENT no child"));
  EXPECT_THAT(seen, ::testing::Contains(HasSubstr("#6 INVALID_ARGUMENT")));
  EXPECT_EQ(harness.Live(), std::vector<Pid>{pid});
}

TEST_F(HarnessTest, ACancelIsAnEventOrAnEnd) {
  Harness harness(kPlugin);
  script = [](Events events, StepOutput& out) {
    if (!events.empty()) out.Fail(Code::kCancelled, "as you wish");
  };
  const Pid asked = harness.Submit("scripted");
  const Pid ended = harness.Submit("scripted.uncancelled");
  const Pid forced = harness.Submit("scripted");
  harness.Run();
  harness.Cancel(asked, "why not");
  harness.Cancel(asked, "again");
  harness.Cancel(ended, "over");
  harness.Terminate(forced, "now");
  EXPECT_EQ(harness.ExpectFailed(forced, Code::kAborted), "now");
  EXPECT_EQ(harness.ExpectFailed(ended, Code::kCancelled), "over");
  EXPECT_EQ(harness.ExpectFailed(asked, Code::kCancelled), "as you wish");
  EXPECT_EQ(harness.OutcomeOf(asked)->kind, EndKind::kCancelled);
  EXPECT_EQ(harness.OutcomeOf(ended)->kind, EndKind::kCancelled);
  EXPECT_EQ(harness.OutcomeOf(forced)->kind, EndKind::kTerminated);
  EXPECT_THAT(seen, ElementsAre("cancel why not"));
  EXPECT_THAT(WhatFails([&] { harness.Cancel(ended); }),
              HasSubstr("is not alive"));
}

TEST_F(HarnessTest, BlockedProcessSeesNoMessageBeforeItsCompletion) {
  Harness harness(kPlugin);
  script = [](Events events, StepOutput& out) {
    if (!events.empty()) return;
    out.Yield("payment.charge");
    out.Block();
  };
  const Pid pid = harness.Submit("scripted");
  harness.Deliver(pid, "early");
  harness.Run();
  // The first step may already get the events that have arrived by then.
  if (seen.empty()) {
    harness.CompleteNext("payment.charge", "paid");
    harness.Run();
    EXPECT_THAT(seen, ElementsAre("#1 OK paid", "early"));
  }

  script = [](Events, StepOutput& out) { out.Block(); };
  const Pid stuck = harness.Submit("scripted");
  EXPECT_THAT(harness.ExpectFailed(stuck, Code::kFailedPrecondition),
              HasSubstr("without an outstanding yield"));
}

TEST_F(HarnessTest, ProcessThatBreaksARuleFails) {
  Harness harness(kPlugin, {.max_payload_bytes = 10});
  script = [](Events, StepOutput& out) {
    out.Send(out.self(), "t", "more than ten bytes");
  };
  EXPECT_THAT(
      harness.ExpectFailed(harness.Submit("scripted"), Code::kInvalidArgument),
      HasSubstr("the limit is 10"));
  script = [](Events, StepOutput& out) {
    EXPECT_TRUE(out.Spawn("child", {}, {}, {.priority = 32}).empty());
  };
  EXPECT_THAT(
      harness.ExpectFailed(harness.Submit("scripted"), Code::kInvalidArgument),
      HasSubstr("from 0 to 31"));
}

TEST_F(HarnessTest, BeyondTheLimitOfProcessesASpawnGivesNone) {
  Harness harness(kPlugin, {.max_processes = 2});
  // Is not a process.
  harness.Probe();
  std::vector<bool> spawned;
  script = [&](Events events, StepOutput& out) {
    if (!events.empty() && events[0].topic() == "child") return;
    for (int i = 0; i < 2; ++i) {
      spawned.push_back(!out.Spawn("child", {}, "x").empty());
    }
  };
  const Pid pid = harness.Submit("scripted");
  harness.Run();
  EXPECT_THAT(spawned, ElementsAre(true, false));
  harness.Deliver(pid, "the child has ended");
  harness.Run();
  EXPECT_TRUE(spawned.at(2));
}

}  // namespace
}  // namespace actord::harness_test
