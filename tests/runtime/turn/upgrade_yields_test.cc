// The yields and calls of a process that continues in a new version: cancelled,
// and none of their completions comes; or taken over, and each comes once.
// Workers run by hand.
#include "runtime/process/upgrading.h"
#include "tests/runtime/turn/versions_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMs = 1'000'000;

class UpgradeYields : public VersionsTest {
 protected:
  void SetUp() override {
    VersionsTest::SetUp();
    RuntimeOptions options;
    options.blocking_threads = 0;
    options.max_yields = 10'000;
    StartVersions(options);
    core_->AddCommand("pooled", ACTORD_HANDLER_POOLED,
                      [](actord::testing::Call& call) {
                        call.Reply(ACTORD_OK, call.bytes());
                        return ACTORD_HANDLED;
                      });
    core_->AddCommand("defer", ACTORD_HANDLER_INLINE,
                      [this](actord::testing::Call& call) {
                        deferred_ = call.Defer();
                        return ACTORD_DEFERRED;
                      });
    Begin("callee");
    pid_ = BeginVersioned("a");
  }

  // The process does this in its next step, which is run.
  void Act1(Act act) {
    next_act_ = std::move(act);
    core_->Send(pid_, -1, "act");
    core_->Settle();
    Steps();
  }
  // The next versions take these over.
  template <int V>
  void Adopt(std::vector<Tag> tags, bool expected = true) {
    Versioned<V>::script.restore = [tags, expected](std::string& state,
                                                    const RestoreFrom& from,
                                                    RestoreContext& context) {
      state = from.snapshot.bytes;
      for (const Tag tag : tags) {
        EXPECT_EQ(context.AdoptYield(tag), expected) << tag;
        EXPECT_EQ(context.AdoptYield(tag), expected) << "again";
      }
      EXPECT_FALSE(context.AdoptYield(0));
      EXPECT_FALSE(context.AdoptYield(1'000'000));
      return actord::Status();
    };
  }
  CompleteAnswer Complete(Tag tag, std::string bytes = "done") {
    return core().tasks.Complete({{pid_, tag}, 0},
                                 {{}, {std::move(bytes), ""}});
  }
  int32_t CompleteDeferred(std::string_view bytes = "done") {
    return core().broker.Complete(deferred_, ACTORD_OK,
                                  {ToAbi(bytes), ToAbi(std::string_view())},
                                  core().lane);
  }

  Pid pid_;
  actord_completion deferred_ = 0;
};

// A yield or a call that is outstanding while its process is upgraded.
struct Kind {
  const char* name;
  std::function<Tag(UpgradeYields&, StepOutput&)> yield;
  // Completes it, if it still can be.
  std::function<void(UpgradeYields&)> complete;
};

class OfKind : public UpgradeYields,
               public ::testing::WithParamInterface<Kind> {
 public:
  using UpgradeYields::Complete;
  using UpgradeYields::CompleteDeferred;
  static OfKind& Of(UpgradeYields& test) { return static_cast<OfKind&>(test); }
  void CompleteExternal() { Complete(tag_); }
  void PassTime() { Pass(10 * kMs); }
  void RunPool() {
    while (core().pool.RunOne()) {
    }
  }
  void ReplyToCall() {
    const CallId call = TheCall();
    Do("callee", [call](StepOutput& out) { out.Reply(call, "done"); });
  }
  actord::Pid Callee() { return PidOf("callee"); }

 protected:
  void YieldIt() {
    Act1([this](StepOutput& out) { tag_ = GetParam().yield(*this, out); });
  }
  Tag tag_ = 0;
};

TEST_P(OfKind, NothingOfTheYieldReachesTheNewVersion) {
  YieldIt();
  EXPECT_EQ(core_->process(pid_).yields_count, 1u);
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), ElementsAre("v2 a"));
  ExpectNoYields(pid_);
  GetParam().complete(*this);
  EXPECT_THAT(Steps(), IsEmpty());
  ExpectNoYields(pid_);
  EXPECT_EQ(core().tasks.waiting(), 0u);
  // Tags are not used again.
  Act1([this](StepOutput& out) { EXPECT_GT(out.Yield("ext"), tag_); });
}

TEST_P(OfKind, YieldReachesTheVersionThatHasTakenItOverOnce) {
  YieldIt();
  Adopt<2>({tag_});
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), ElementsAre("v2 a"));
  EXPECT_EQ(core_->process(pid_).yields_count, 1u);
  GetParam().complete(*this);
  ASSERT_EQ(Steps().size(), 1u);
  ExpectNoYields(pid_);
  // It is not outstanding any more.
  Adopt<3>({tag_}, false);
  LoadAndRun<Versioned<3>>("3");
  EXPECT_THAT(Steps(), ElementsAre("v3 a"));
}

TEST_P(OfKind, CompletedUnseenYieldCanStillBeTakenOver) {
  YieldIt();
  GetParam().complete(*this);
  Steps();
  // Completed between its end and the turn that would see it.
  YieldIt();
  const auto type = Load<Versioned<2>>("2");
  Adopt<2>({tag_});
  GetParam().complete(*this);
  const std::vector<std::string> steps = Steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_THAT(steps[0], HasSubstr("v2 a c:0:"));
  ExpectNoYields(pid_);
}

TEST_P(OfKind, CompletedUnseenYieldIsDropped) {
  YieldIt();
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  GetParam().complete(*this);
  EXPECT_THAT(Steps(), ElementsAre("v2 a"));
  ExpectNoYields(pid_);
}

TEST_P(OfKind, EachOfTwoUpgradesHasToTakeTheYieldOver) {
  YieldIt();
  Adopt<2>({tag_});
  LoadAndRun<Versioned<2>>("2");
  Adopt<3>({tag_});
  LoadAndRun<Versioned<3>>("3");
  // And a third that does not.
  EXPECT_THAT(Steps(), ElementsAre("v2 a", "v3 a"));
  LoadAndRun<Versioned<1>>("1");
  GetParam().complete(*this);
  EXPECT_THAT(Steps(), ElementsAre("v1 a"));
  ExpectNoYields(pid_);
}

TEST_P(OfKind, ADeclinedUpgradeLeavesTheYieldToTheOldVersion) {
  YieldIt();
  Versioned<2>::script.restore = [this](auto&, auto&, RestoreContext& context) {
    EXPECT_TRUE(context.AdoptYield(tag_));
    return actord::Status(actord::Code::kInvalidArgument, "no");
  };
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), IsEmpty());
  GetParam().complete(*this);
  const std::vector<std::string> steps = Steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_THAT(steps[0], HasSubstr("v1 a c:0:"));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OfKind,
    ::testing::Values(
        Kind{"External",
             [](UpgradeYields&, StepOutput& out) { return out.Yield("ext"); },
             [](UpgradeYields& test) { OfKind::Of(test).CompleteExternal(); }},
        Kind{"Timer",
             [](UpgradeYields&, StepOutput& out) {
               return out.Yield("sleep", std::to_string(5 * kMs));
             },
             [](UpgradeYields& test) { OfKind::Of(test).PassTime(); }},
        Kind{"Pooled",
             [](UpgradeYields&, StepOutput& out) {
               return out.Yield("pooled", "done");
             },
             [](UpgradeYields& test) { OfKind::Of(test).RunPool(); }},
        Kind{"Deferred",
             [](UpgradeYields&, StepOutput& out) { return out.Yield("defer"); },
             [](UpgradeYields& test) { OfKind::Of(test).CompleteDeferred(); }},
        Kind{"Call",
             [](UpgradeYields& test, StepOutput& out) {
               return out.Call(OfKind::Of(test).Callee(), "ask");
             },
             [](UpgradeYields& test) { OfKind::Of(test).ReplyToCall(); }}),
    [](const auto& kind) { return std::string(kind.param.name); });

// A yield that is answered within the step's own turn has no record.
TEST_F(UpgradeYields, AnsweredAtOnceAndNotSeenIsDropped) {
  next_act_ = [this](StepOutput& out) {
    // The other one becomes ready, so this turn ends with its step.
    out.Send(PidOf("callee"), "m");
    out.Yield("echo", std::string(10'000, 'x'));
    ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  };
  core_->Send(pid_, -1, "act");
  EXPECT_THAT(Steps(), ElementsAre("v1 a", "v1 a m:act:", "v2 a"));
  ExpectNoYields(pid_);
}

TEST_F(UpgradeYields, AnsweredAtOnceAndNotSeenCanBeTakenOver) {
  Tag tag = 0;
  next_act_ = [&](StepOutput& out) {
    out.Send(PidOf("callee"), "m");
    tag = out.Yield("echo", "x");
    Adopt<2>({tag});
    ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  };
  core_->Send(pid_, -1, "act");
  EXPECT_THAT(Steps(), ElementsAre("v1 a", "v1 a m:act:", "v2 a c:0:x"));
  ExpectNoYields(pid_);
}

// A completion that has left the broker and has not come to the mailbox when
// the process is upgraded: here, while its Snapshot looks at the clock.
class OnItsWay : public UpgradeYields {
 protected:
  void SetUp() override {
    UpgradeYields::SetUp();
    Act1([this](StepOutput& out) { first_ = out.Yield("ext"); });
    Act1([this](StepOutput& out) { second_ = out.Yield("ext"); });
    Versioned<1>::script.snapshot = [this](const std::string& state) {
      EXPECT_EQ(Complete(first_, std::string(10'000, 'x')),
                CompleteAnswer::kAccepted);
      return SnapshotResult(state);
    };
  }
  Tag first_ = 0;
  Tag second_ = 0;
};

TEST_F(OnItsWay, CompletionOnItsWayIsFencedUntilItComes) {
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  bool looked = false;
  next_act_ = [&](StepOutput&) {
    looked = true;
    const Process& process = core_->process(pid_);
    ASSERT_NE(process.upgrading, nullptr);
    EXPECT_THAT(process.upgrading->fenced, ElementsAre(first_));
    EXPECT_EQ(process.yields_count, 1u);
  };
  core_->Send(pid_, -1, "m");
  EXPECT_THAT(Steps(), ElementsAre("v2 a m:m:"));
  EXPECT_TRUE(looked);
  ExpectNoYields(pid_);
  EXPECT_EQ(Complete(second_), CompleteAnswer::kExpired);
}

TEST_F(OnItsWay, CompletionOnItsWayCanBeTakenOver) {
  Adopt<2>({first_});
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  core_->Send(pid_, -1, "m");
  const std::vector<std::string> steps = Steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], "v2 a m:m:");
  EXPECT_THAT(steps[1], HasSubstr("v2 a c:0:xxx"));
  ExpectNoYields(pid_);
}

TEST_F(OnItsWay, FencedCompletionWakesNoBlockedProcess) {
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  next_act_ = [](StepOutput& out) { out.Block(); };
  core_->Send(pid_, -1, "m");
  core_->Settle();
  const auto outcome = [&] {
    pids_["it"] = pid_;
    return OutcomeOf("it");
  }();
  ASSERT_TRUE(outcome);
  EXPECT_THAT(outcome->message,
              HasSubstr("Step blocked without an outstanding yield"));
}

TEST_F(OnItsWay, FencedCompletionCannotBeAdoptedByTheNextUpgrade) {
  // As an upgrade has left it whose fence the completion has not reached.
  Process& process = core_->process(pid_);
  process.upgrading = new Upgrading;
  process.upgrading->fenced.insert(first_);
  bool asked = false;
  Versioned<2>::script.restore = [&](std::string&, auto&,
                                     RestoreContext& context) {
    asked = true;
    EXPECT_FALSE(context.AdoptYield(first_));
    EXPECT_TRUE(context.AdoptYield(second_));
    return actord::Status();
  };
  LoadAndRun<Versioned<2>>("2");
  EXPECT_TRUE(asked);
  EXPECT_EQ(process.upgrading, nullptr);
  EXPECT_EQ(process.yields_count, 1u);
}

TEST_F(OnItsWay, FencedCompletionGoesWithItsProcess) {
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  next_act_ = [](StepOutput& out) { out.Done(); };
  core_->Send(pid_, -1, "m");
  core_->Settle();
  ExpectNoYields(pid_);
  EXPECT_EQ(core().processes.Find(pid_), nullptr);
}

TEST_F(UpgradeYields, AnExternalOneIsTakenBackFromItsWorker) {
  Tag tag = 0;
  Act1([&](StepOutput& out) { tag = out.Yield("ext", "charge"); });
  EXPECT_EQ(core().tasks.waiting(), 1u);
  LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(core().tasks.waiting(), 0u);
  EXPECT_EQ(Complete(tag), CompleteAnswer::kExpired);
}

TEST_F(UpgradeYields, ThousandsAreTakenOverOrCancelled) {
  constexpr int kMany = 5000;
  std::vector<Tag> tags;
  Act1([&](StepOutput& out) {
    for (int i = 0; i < kMany; ++i) tags.push_back(out.Yield("ext"));
  });
  std::vector<Tag> kept;
  for (int i = 0; i < kMany; i += 2) kept.push_back(tags[i]);
  Adopt<2>(kept);
  LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(core_->process(pid_).yields_count, kept.size());
  Steps();
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(Complete(tags[i]), i % 2 == 0 ? CompleteAnswer::kAccepted
                                            : CompleteAnswer::kExpired);
  }
  size_t completions = 0;
  for (const std::string& step : Steps()) {
    for (size_t at = step.find(" c:0:done"); at != step.npos;
         at = step.find(" c:0:done", at + 1)) {
      ++completions;
    }
  }
  EXPECT_EQ(completions, kept.size());
  ExpectNoYields(pid_);
}

TEST_F(UpgradeYields, ATimeoutOfOneThatWasTakenOverStillComes) {
  Tag tag = 0;
  Act1([&](StepOutput& out) {
    tag = out.Yield("ext", {}, {.timeout = std::chrono::milliseconds(5)});
  });
  Adopt<2>({tag});
  LoadAndRun<Versioned<2>>("2");
  Steps();
  Pass(10 * kMs);
  const std::vector<std::string> steps = Steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_THAT(steps[0], HasSubstr("v2 a c:4:"));
  ExpectNoYields(pid_);
}

}  // namespace
}  // namespace actord::runtime
