// Harness::CrashEverywhere: processes lose their state after each step.
#include "tests/handlers/testing/durable_fixture.h"

namespace actord::durable_test {
namespace {

using namespace std::chrono_literals;

class HarnessCrash : public DurableTest {
 protected:
  HarnessCrash() { harness_.CrashEverywhere(); }

  Pid Start(const char* type, const char* input = "") {
    const Pid pid = harness_.Submit(type, "", input);
    harness_.Run();
    return pid;
  }
  Harness harness_{kPlugin};
};

TEST_F(HarnessCrash, AnImageTypeGoesOnFromItsImage) {
  const Pid pid = Start("tally");
  const Pid probe = harness_.Probe();
  Steps(harness_, pid, probe, {"add", "add", "get"});
  harness_.ExpectMessage(probe, "added");
  harness_.ExpectMessage(probe, "added");
  EXPECT_EQ(harness_.ExpectMessage(probe, "sum").payload.bytes, "10");
  // Init, and the four steps.
  EXPECT_EQ(counts.snapshots, 5);
  EXPECT_EQ(counts.recoveries, 5);
  harness_.Deliver(pid, "stop");
  EXPECT_EQ(harness_.ExpectResult(pid).bytes, "10");
  EXPECT_EQ(counts.inits, 1);
}

TEST_F(HarnessCrash, AForgottenMemberIsReportedWithBothValues) {
  const Pid pid = Start("tally", "forgets");
  const Pid probe = harness_.Probe();
  Steps(harness_, pid, probe, {"add"});
  harness_.Deliver(pid, "get", "", probe);
  EXPECT_THAT(WhatFails([&] { harness_.Run(); }),
              AllOf(HasSubstr("tally " + std::string("1.")),
                    HasSubstr("does not survive a crash: its step 3 differs"),
                    HasSubstr("effect 1 without the crashes: sends 'sum' '5'"),
                    HasSubstr("effect 1 after the crashes: sends 'sum' '0'")));
}

TEST_F(HarnessCrash, AnotherVerdictIsReported) {
  const Pid pid = Start("tally", "fails");
  harness_.Deliver(pid, "stop");
  EXPECT_THAT(
      WhatFails([&] { harness_.Run(); }),
      AllOf(HasSubstr("its step 2 differs"),
            HasSubstr("verdict without the crashes: ends with Done"),
            HasSubstr("verdict after the crashes: ends with Fail: INTERNAL: "
                      "is lost")));
}

TEST_F(HarnessCrash, AStepWithoutAnImageFails) {
  struct Case {
    const char* fault;
    Code code;
    const char* says;
  };
  for (const Case& c :
       {Case{"is busy", Code::kUnavailable, "not now"},
        Case{"has no image", Code::kDataLoss, "lost it"},
        Case{"throws", Code::kInternal, "Snapshot threw: broke"},
        Case{"is large", Code::kInvalidArgument, "has 2000000 bytes"}}) {
    const Pid pid = Start("tally", c.fault);
    const Pid probe = harness_.Probe();
    harness_.Deliver(pid, "add", "5", probe);
    const Outcome outcome = harness_.ExpectEnded(pid);
    EXPECT_EQ(outcome.kind, EndKind::kThrew) << c.fault;
    EXPECT_EQ(outcome.status.code(), c.code) << c.fault;
    EXPECT_THAT(outcome.status.message(), HasSubstr(c.says)) << c.fault;
    // The effects of the step did not happen.
    EXPECT_EQ(harness_.MessagesAt(probe), 0u) << c.fault;
  }
}

TEST_F(HarnessCrash, AStartWithoutAnImageIsRefused) {
  EXPECT_THAT(
      harness_.ExpectRefused(Code::kUnavailable, "tally", "", "is never ready"),
      HasSubstr("needs an image after Init"));
}

TEST_F(HarnessCrash, ARestoreThatRefusesIsReported) {
  const Pid pid = Start("tally", "refuses");
  harness_.Deliver(pid, "add", "5");
  EXPECT_THAT(WhatFails([&] { harness_.Run(); }),
              AllOf(HasSubstr("does not survive a crash after its step 2"),
                    HasSubstr("Restore refused with INTERNAL: is bad")));
}

TEST_F(HarnessCrash, AFlatStateIsCopied) {
  const Pid pid = Start("meter");
  const Pid probe = harness_.Probe();
  Steps(harness_, pid, probe, {"add", "read", "add"});
  EXPECT_EQ(harness_.ExpectMessage(probe, "sum").payload.bytes, "101");
  EXPECT_EQ(harness_.ExpectMessage(probe, "sum").payload.bytes, "102");
  harness_.Deliver(pid, "stop");
  EXPECT_EQ(harness_.ExpectResult(pid).bytes, "102");
}

TEST_F(HarnessCrash, YieldsAndTagsAreKept) {
  const Pid pid = Start("sleeper");
  harness_.Advance(5s);
  EXPECT_TRUE(harness_.IsLive(pid));
  harness_.Advance(5s);
  EXPECT_EQ(harness_.ExpectResult(pid).bytes, "2");
}

TEST_F(HarnessCrash, MessagesThatNoStepHasTakenAreKept) {
  const Pid pid = Start("tally");
  for (int i = 0; i < 200; ++i) harness_.Deliver(pid, "add", "1");
  harness_.Deliver(pid, "stop");
  EXPECT_EQ(harness_.ExpectResult(pid).bytes, "200");
}

TEST_F(HarnessCrash, LostStatesAreClosedWhenTheHarnessEnds) {
  {
    Harness harness(kPlugin);
    harness.CrashEverywhere();
    const Pid pid = harness.Submit("tally");
    harness.Run();
    Steps(harness, pid, {}, {"add", "add"});
    EXPECT_EQ(counts.closes, 0);
    EXPECT_EQ(counts.objects, 5);
    harness.Deliver(pid, "stop");
    harness.Run();
    // The state that went on, and the state that has never crashed.
    EXPECT_EQ(counts.closes, 2);
  }
  EXPECT_EQ(counts.closes, 5);
}

TEST_F(HarnessCrash, AVolatileTypeIsLeftAlone) {
  const Pid pid = Start("gone");
  harness_.Deliver(pid, "end");
  harness_.ExpectResult(pid);
  EXPECT_EQ(counts.inits, 1);
  EXPECT_EQ(counts.snapshots, 0);
}

TEST_F(HarnessCrash, HarnessWithoutCrashesTakesNoImage) {
  Harness harness(kPlugin);
  const Pid pid = harness.Submit("tally", "", "is never ready");
  harness.Run();
  Steps(harness, pid, {}, {"add"});
  EXPECT_EQ(counts.snapshots, 0);
  // From here on it does: this process has begun before.
  harness.CrashEverywhere();
  harness.Deliver(pid, "add", "1");
  EXPECT_EQ(harness.ExpectEnded(pid).kind, EndKind::kThrew);
}

// The same seed gives the same run, with and without crashes.
TEST_F(HarnessCrash, TheRunStaysTheSame) {
  // Its Snapshot draws random bits, and so does its Restore.
  static actord_process_type drawing = kProcessType<Tally>;
  drawing.snapshot = [](const void* state, actord_step* step) -> int32_t {
    (void)step->api->random(step);
    return kProcessType<Tally>.snapshot(state, step);
  };
  static const actord_process_type* const types[] = {&drawing,
                                                     &kProcessType<Route>};
  actord_plugin_info plugin = kPlugin;
  plugin.process_types = types;
  plugin.process_type_count = 2;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto run = [&](bool crashes) {
      Harness harness(plugin, {.seed = seed});
      if (crashes) harness.CrashEverywhere();
      const Pid sums = harness.Probe();
      const Pid reader = harness.Probe();
      const Pid tally = harness.Submit("tally");
      const Pid path = harness.Submit("route");
      harness.Deliver(path, "tell", "", reader);
      for (int i = 0; i < 20; ++i) {
        harness.Deliver(tally, "add", "1");
        harness.Deliver(tally, "get", "", sums);
        harness.Deliver(path, "on", std::to_string(i));
      }
      harness.Run();
      std::string told;
      while (harness.MessagesAt(sums) > 0) {
        told += harness.ExpectMessage(sums, "sum").payload.bytes + "\n";
      }
      while (harness.MessagesAt(reader) > 0) {
        told += harness.ExpectMessage(reader, "told").payload.bytes + "\n";
      }
      return told;
    };
    const std::string told = run(false);
    EXPECT_THAT(told, HasSubstr("on19"));
    EXPECT_EQ(told, run(true)) << "seed " << seed;
  }
}

TEST_F(HarnessCrash, AReplayTypeGoesOnInTheStateThatWasReplayed) {
  const Pid pid = Start("route");
  Steps(harness_, pid, harness_.Probe(), {"a", "b"});
  // The start, once more after Init, and once after each of the three steps.
  EXPECT_EQ(counts.inits, 5);
  // The state that lives, and the four that were lost.
  EXPECT_EQ(counts.objects, 5);
  EXPECT_EQ(counts.closes, 0);
  harness_.Deliver(pid, "stop");
  EXPECT_EQ(harness_.ExpectResult(pid).bytes, "a5b5stop");
}

TEST_F(HarnessCrash, ACoroutineGoesOn) {
  const Pid pid = Start("visits");
  const Pid probe = harness_.Probe();
  for (const char* visitor : {"a", "b", "c"}) {
    harness_.Deliver(pid, "visit", visitor, probe);
    harness_.Advance(1s);
  }
  EXPECT_EQ(harness_.ExpectResult(pid).bytes, "abc");
  EXPECT_EQ(harness_.ExpectMessage(probe, "left").payload.bytes, "a");
  EXPECT_EQ(harness_.ExpectMessage(probe, "left").payload.bytes, "ab");
}

// An image type whose steps differ each time.
class Erratic : public actord::Process {
 public:
  static constexpr const char* kName = "erratic";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {};
  State state;
  void Step(Events events, StepOutput& out) {
    if (!events.empty()) out.Done(std::to_string(++statics));
  }
};

TEST_F(HarnessCrash, ImagesAreComparedUnlessTheTestSaysOtherwise) {
  static const actord_plugin_info plugin =
      actord::MakePlugin<actord::ProcessTypes<Erratic>>("erratic", "1");
  Harness compares(plugin);
  compares.CrashEverywhere();
  const Pid compared = compares.Submit("erratic");
  compares.Deliver(compared, "end");
  EXPECT_THAT(WhatFails([&] { compares.Run(); }),
              AllOf(HasSubstr("result without the crashes: '2'"),
                    HasSubstr("result after the crashes: '1'")));
  Harness only_crashes(plugin);
  only_crashes.CrashEverywhere({.compare_images = false});
  const Pid pid = only_crashes.Submit("erratic");
  only_crashes.Deliver(pid, "end");
  only_crashes.ExpectResult(pid);
}

}  // namespace
}  // namespace actord::durable_test
