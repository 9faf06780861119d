// The harness runs the steps of replay types again.
#include "tests/handlers/testing/durable_fixture.h"

namespace actord::durable_test {
namespace {

using namespace std::chrono_literals;

class HarnessReplay : public DurableTest {
 protected:
  Pid Start(const char* type, const char* input = "") {
    const Pid pid = harness_.Submit(type, "", input);
    harness_.Run();
    return pid;
  }
  void Step(const Pid& pid) {
    harness_.Deliver(pid, "on");
    harness_.Run();
  }
  Harness harness_{kPlugin};
};

TEST_F(HarnessReplay, AStepThatDependsOnAStaticIsReportedWithBothValues) {
  const Pid pid = Start("route");
  const Pid probe = harness_.Probe();
  route = [&](int step, StepOutput& out) {
    out.Send(probe, "step");
    if (step == 3) out.Send(probe, "static", std::to_string(++statics));
  };
  Step(pid);
  harness_.Deliver(pid, "on");
  EXPECT_THAT(WhatFails([&] { harness_.Run(); }),
              AllOf(HasSubstr("cannot be replayed: its step 3"),
                    HasSubstr("again after its step 3"),
                    HasSubstr("effect 2 at first: sends 'static' '1'"),
                    HasSubstr("effect 2 again: sends 'static' '2'")));
}

TEST_F(HarnessReplay, ADependencyThatShowsLaterIsReported) {
  const Pid pid = Start("route");
  const Pid probe = harness_.Probe();
  route = [&](int /*step*/, StepOutput& out) {
    out.Send(probe, "static", std::to_string(statics));
  };
  Step(pid);
  // Another process, or another test, changes the static.
  statics = 9;
  harness_.Deliver(pid, "on");
  EXPECT_THAT(WhatFails([&] { harness_.Run(); }),
              AllOf(HasSubstr("its step 2"), HasSubstr("after its step 3"),
                    HasSubstr("effect 1 at first: sends 'static' '0'"),
                    HasSubstr("effect 1 again: sends 'static' '9'")));
}

TEST_F(HarnessReplay, EachStepOfALongHistoryIsRunAgainAtOnce) {
  const Pid pid = Start("route");
  const Pid probe = harness_.Probe();
  route = [&](int step, StepOutput& out) {
    if (step == 100) out.Send(probe, "static", std::to_string(++statics));
  };
  for (int step = 2; step < 100; ++step) Step(pid);
  harness_.Deliver(pid, "on");
  EXPECT_THAT(WhatFails([&] { harness_.Run(); }),
              HasSubstr("its step 100 does something else when it is run again "
                        "after its step 100"));
}

TEST_F(HarnessReplay, ALongHistoryIsRunAgainNowAndThenAndAtItsEnd) {
  const Pid pid = Start("route");
  EXPECT_EQ(counts.inits, 2);
  for (int step = 2; step <= 64; ++step) Step(pid);
  EXPECT_EQ(counts.inits, 65);
  for (int step = 65; step <= 127; ++step) Step(pid);
  EXPECT_EQ(counts.inits, 65);
  Step(pid);
  EXPECT_EQ(counts.inits, 66);
  harness_.Deliver(pid, "stop");
  harness_.ExpectResult(pid);
  EXPECT_EQ(counts.inits, 67);
}

TEST_F(HarnessReplay, AStepThatRunsAgainGetsTheSameAnswers) {
  const Pid pid = Start("route");
  const Pid probe = harness_.Probe();
  harness_.Deliver(pid, "tell", "", probe);
  route = [](int step, StepOutput& out) {
    Tag monitored = 0;
    const Pid child = out.Spawn("gone", "run", "x", {.monitor = &monitored});
    out.Send(child, "from", out.FormatPid(child) + std::to_string(monitored));
    const Tag slept = out.Yield(commands::Sleep(1s));
    const Tag asked = out.Call(child, "ask");
    out.Send(out.self(), "tags",
             std::to_string(slept) + " " + std::to_string(asked));
    if (step > 5) out.Done(std::to_string(out.random()));
  };
  harness_.Advance(5s);
  harness_.ExpectResult(pid);
  EXPECT_GT(harness_.MessagesAt(probe), 3u);
}

TEST_F(HarnessReplay, AStepThatRunsAgainHasItsOldTime) {
  const Pid pid = Start("route");
  const Pid probe = harness_.Probe();
  Steps(harness_, pid, probe, {"tell"});
  harness_.Advance(1s);
  Steps(harness_, pid, probe, {"on"});
  EXPECT_EQ(harness_.MessagesAt(probe), 2u);
}

TEST_F(HarnessReplay, AVolatileChildLosesNoState) {
  for (const bool is_volatile : {true, false}) {
    counts.snapshots = 0;
    Harness harness(kPlugin);
    harness.CrashEverywhere();
    route = [&](int step, StepOutput& out) {
      if (step != 2) return;
      EXPECT_FALSE(
          out.Spawn("tally", "", "", {.is_volatile = is_volatile}).empty());
      out.Yield(commands::Spawn("tally", "", "", {.is_volatile = is_volatile}));
    };
    const Pid pid = harness.Submit("route");
    harness.Run();
    harness.Deliver(pid, "on");
    harness.Run();
    EXPECT_EQ(harness.Live("tally").size(), 2u);
    EXPECT_EQ(counts.snapshots > 0, !is_volatile);
  }
}

TEST_F(HarnessReplay, NoRoomForAChildIsAnAnswer) {
  Harness harness(kPlugin, {.max_processes = 2});
  const Pid probe = harness.Probe();
  std::vector<bool> had_room;
  route = [&](int /*step*/, StepOutput& out) {
    const bool has_room = !out.Spawn("gone").empty();
    had_room.push_back(has_room);
    out.Send(probe, has_room ? "room" : "none");
  };
  const Pid pid = harness.Submit("route");
  harness.Run();
  for (int i = 0; i < 2; ++i) {
    harness.Deliver(pid, "on");
    harness.Run();
  }
  // Step 2, step 2 again; step 3, steps 2 and 3 again.
  EXPECT_THAT(had_room, ElementsAre(true, true, false, true, false));
}

TEST_F(HarnessReplay, EffectsHappenOnce) {
  const Pid pid = Start("route");
  const Pid probe = harness_.Probe();
  route = [&](int /*step*/, StepOutput& out) {
    out.Send(probe, "once");
    (void)out.Spawn("gone");
  };
  Step(pid);
  Step(pid);
  EXPECT_EQ(harness_.MessagesAt(probe), 2u);
  EXPECT_EQ(harness_.Live("gone").size(), 2u);
}

TEST_F(HarnessReplay, TheLastStepIsRunAgain) {
  const Pid pid = Start("route");
  route = [&](int /*step*/, StepOutput& out) {
    out.Done(std::to_string(++statics));
  };
  harness_.Deliver(pid, "on");
  EXPECT_THAT(
      WhatFails([&] { harness_.Run(); }),
      AllOf(HasSubstr("result at first: '1'"), HasSubstr("result again: '2'")));
}

TEST_F(HarnessReplay, AFailureIsComparedToo) {
  const Pid pid = Start("route");
  route = [&](int /*step*/, StepOutput&) {
    throw std::runtime_error("attempt " + std::to_string(++statics));
  };
  harness_.Deliver(pid, "on");
  EXPECT_THAT(WhatFails([&] { harness_.Run(); }),
              AllOf(HasSubstr("Step threw: attempt 1"),
                    HasSubstr("Step threw: attempt 2")));
  route = nullptr;
  const Pid fails = Start("route");
  harness_.Deliver(fails, "fail", "ed");
  EXPECT_EQ(harness_.ExpectFailed(fails, Code::kAborted), "failed");
}

TEST_F(HarnessReplay, StatesThatWereReplayedAreClosed) {
  const Pid pid = Start("route");
  Step(pid);
  Step(pid);
  // The process, and the state in which its steps were run again last.
  EXPECT_EQ(counts.objects, 2);
  EXPECT_EQ(counts.closes, 2);
  harness_.Deliver(pid, "stop");
  harness_.ExpectResult(pid);
  EXPECT_EQ(counts.objects, 0);
}

TEST_F(HarnessReplay, AnUpgradeBeginsANewHistory) {
  const Pid pid = Start("route");
  route = [](int step, StepOutput& out) {
    if (step == 2) out.Yield(commands::Sleep(1s));
  };
  const Pid other = Start("route", "other");
  Step(other);
  static const actord_process_type again = kProcessType<Route>;
  ASSERT_TRUE(harness_.Upgrade(pid, again, "6").ok());
  ASSERT_TRUE(harness_.Upgrade(other, again, "6").ok());
  const int inits = counts.inits;
  harness_.Advance(2s);
  harness_.Deliver(pid, "stop");
  harness_.Deliver(other, "stop");
  EXPECT_THAT(harness_.ExpectResult(pid).bytes, HasSubstr("alone"));
  EXPECT_THAT(harness_.ExpectResult(other).bytes, HasSubstr("otheron adopted"));
  EXPECT_EQ(counts.inits, inits);
}

class Static : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "static";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;
  actord::Task<> Main(Context& ctx) {
    co_await ctx.Sleep(std::chrono::seconds(++statics));
  }
};

TEST_F(HarnessReplay, ACoroutineThatWaitsForAStaticIsReported) {
  static const actord_plugin_info plugin =
      actord::MakePlugin<actord::ProcessTypes<Static>>("static", "1");
  Harness harness(plugin);
  harness.Submit("static");
  EXPECT_THAT(WhatFails([&] { harness.Run(); }),
              AllOf(HasSubstr("effect 1 at first: yields timer.sleep"),
                    HasSubstr("effect 1 again: yields timer.sleep")));
}

class Once : public actord::Process {
 public:
  static constexpr const char* kName = "once";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;
  Status Init(std::string_view /*method*/, const Payload& /*input*/) {
    return statics++ == 0 ? Status() : Status(Code::kInternal, "was here");
  }
  void Step(Events, StepOutput&) {}
};

TEST_F(HarnessReplay, AnInitThatFailsAgainIsReported) {
  static const actord_plugin_info plugin =
      actord::MakePlugin<actord::ProcessTypes<Once>>("once", "1");
  Harness harness(plugin);
  harness.Submit("once");
  EXPECT_THAT(WhatFails([&] { harness.Run(); }),
              AllOf(HasSubstr("once 1."), HasSubstr("was here")));
}

TEST_F(HarnessReplay, ATypeThatContradictsItselfIsRefused) {
  static actord_process_type type = kProcessType<Gone>;
  type.durability = ACTORD_DURABILITY_IMAGE;
  static const actord_process_type* const types[] = {&type};
  actord_plugin_info plugin = kPlugin;
  plugin.process_types = types;
  plugin.process_type_count = 1;
  EXPECT_THAT(
      WhatFails([&] { Harness harness(plugin); }),
      AllOf(HasSubstr("process type gone"), HasSubstr("neither a flat")));
}

}  // namespace
}  // namespace actord::durable_test
