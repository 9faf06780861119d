// Which children a supervisor starts and restarts, when, and when it gives up.
#include "tests/handlers/supervisor/supervisor_plan_fixture.h"

namespace actord::handlers {
namespace {

TEST_F(PlanTest, StartsEachWhenTheInitOfTheOneBeforeHasReturned) {
  Begin(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b"), ChildOf("c")});
  EXPECT_THAT(Next(), ElementsAre("start a"));
  EXPECT_THAT(Next(), IsEmpty());
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("start b"));
  EXPECT_FALSE(plan_->is_started());
  Started("b");
  EXPECT_THAT(Next(), ElementsAre("start c"));
  Started("c");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(plan_->is_started());
}

TEST_F(PlanTest, SupervisorWithoutChildrenHasStarted) {
  Begin(Strategy::kOneForOne, {});
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(plan_->is_started());
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
}

TEST_F(PlanTest, OneForOneRestartsTheOneThatHasEnded) {
  BeginAndStartAll(Strategy::kOneForOne,
                   {ChildOf("a"), ChildOf("b"), ChildOf("c")});
  Exits("b");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(reports_, ElementsAre("child b (type) failed: broken; restart in "
                                    "0.1 s"));
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
  EXPECT_THAT(Next(), ElementsAre("start b"));
  Started("b");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(Child("b").restarts, 1u);
}

TEST_F(PlanTest, OneForAllStopsTheOthersBackwardsAndStartsAllForwards) {
  BeginAndStartAll(Strategy::kOneForAll,
                   {ChildOf("a"), ChildOf("b"), ChildOf("c")});
  Exits("b");
  EXPECT_THAT(Next(), ElementsAre("cancel c"));
  EXPECT_THAT(Next(), IsEmpty());
  Exits("c", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
  Exits("a", ExitReason::kCancelled);
  // `a` waits for the pause of `b`, too.
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
  EXPECT_THAT(Next(), ElementsAre("start a"));
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("start b"));
  Started("b");
  EXPECT_THAT(Next(), ElementsAre("start c"));
  Started("c");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(plan_->restarts(), 1u) << "those who are taken along count nothing";
}

TEST_F(PlanTest, RestForOneRestartsTheLaterChildren) {
  BeginAndStartAll(Strategy::kRestForOne,
                   {ChildOf("a"), ChildOf("b"), ChildOf("c"), ChildOf("d")});
  Exits("b");
  EXPECT_THAT(Next(), ElementsAre("cancel d"));
  Exits("d", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("cancel c"));
  Exits("c", ExitReason::kCancelled);
  EXPECT_THAT(Next(), IsEmpty());
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start b"));
  Started("b");
  EXPECT_THAT(Next(), ElementsAre("start c"));
  Started("c");
  EXPECT_THAT(Next(), ElementsAre("start d"));
}

// A failure during the stop of the group has the intended effect.
TEST_F(PlanTest, ChildThatFailsBeforeItIsStoppedCountsNoRestart) {
  BeginAndStartAll(Strategy::kOneForAll,
                   {ChildOf("a"), ChildOf("b"), ChildOf("c")}, 1);
  Exits("b");
  EXPECT_THAT(Next(), ElementsAre("cancel c"));
  Exits("a");
  Exits("c", ExitReason::kTerminated);
  EXPECT_THAT(Next(), IsEmpty());
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
  EXPECT_EQ(plan_->verdict(), nullptr);
}

struct KindCase {
  Restart restart;
  ExitReason reason;
  bool again;
};

class EachKind : public PlanTest,
                 public ::testing::WithParamInterface<KindCase> {};

TEST_P(EachKind, RestartFollowsFromKindAndEnd) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a", GetParam().restart)});
  Exits("a", GetParam().reason);
  Next();
  EXPECT_EQ(PassToNextLook() > Duration(0), GetParam().again);
  EXPECT_THAT(Next(), SizeIs(GetParam().again ? 1 : 0));
  const bool forgotten = GetParam().restart == Restart::kTemporary;
  EXPECT_THAT(Ids(), SizeIs(forgotten ? 0 : 1));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EachKind,
    ::testing::Values(
        KindCase{Restart::kPermanent, ExitReason::kDone, true},
        KindCase{Restart::kPermanent, ExitReason::kFailed, true},
        KindCase{Restart::kPermanent, ExitReason::kCancelled, true},
        KindCase{Restart::kPermanent, ExitReason::kTerminated, true},
        KindCase{Restart::kTransient, ExitReason::kDone, false},
        KindCase{Restart::kTransient, ExitReason::kCancelled, false},
        KindCase{Restart::kTransient, ExitReason::kFailed, true},
        KindCase{Restart::kTransient, ExitReason::kThrew, true},
        KindCase{Restart::kTransient, ExitReason::kTerminated, true},
        KindCase{Restart::kTemporary, ExitReason::kDone, false},
        KindCase{Restart::kTemporary, ExitReason::kFailed, false}));

TEST_F(PlanTest, AGroupBringsBackWhatWasDoneButNothingTemporary) {
  BeginAndStartAll(Strategy::kOneForAll,
                   {ChildOf("done", Restart::kTransient), ChildOf("a"),
                    ChildOf("temporary", Restart::kTemporary)});
  Exits("done", ExitReason::kDone);
  EXPECT_THAT(Next(), IsEmpty());
  Exits("a");
  EXPECT_THAT(Next(), ElementsAre("cancel temporary"));
  Exits("temporary", ExitReason::kCancelled);
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start done"));
  Started("done");
  EXPECT_THAT(Next(), ElementsAre("start a"));
  Started("a");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(Ids(), ElementsAre("done", "a"));
}

// A temporary child that has not started yet is not lost with its group.
TEST_F(PlanTest, AGroupStartsATemporaryOneAgainWhoseFirstInitIsUnderWay) {
  for (const bool well : {true, false}) {
    Begin(Strategy::kRestForOne,
          {ChildOf("a"), ChildOf("temporary", Restart::kTemporary)});
    Next();
    Started("a");
    EXPECT_THAT(Next(), ElementsAre("start temporary"));
    Exits("a");
    EXPECT_THAT(Next(), IsEmpty());
    if (well) {
      Started("temporary");
      EXPECT_THAT(Next(), ElementsAre("cancel temporary"));
      Exits("temporary", ExitReason::kCancelled);
    } else {
      StartFailed("temporary");
    }
    Next();
    EXPECT_FALSE(plan_->is_started());
    PassToNextLook();
    EXPECT_THAT(Next(), ElementsAre("start a"));
    Started("a");
    EXPECT_THAT(Next(), ElementsAre("start temporary"));
    Started("temporary");
    Next();
    EXPECT_TRUE(plan_->is_started());
  }
}

// Nothing would retry the start, so a tree without this child would be reported
// as started.
TEST_F(PlanTest, ATemporaryOneThatCannotStartFailsTheStart) {
  Begin(Strategy::kOneForOne,
        {ChildOf("a"), ChildOf("temporary", Restart::kTemporary)});
  Next();
  Started("a");
  Next();
  StartFailed("temporary");
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
  Exits("a", ExitReason::kCancelled);
  Next();
  EXPECT_FALSE(plan_->is_started());
  ASSERT_NE(plan_->verdict(), nullptr);
  EXPECT_EQ(plan_->verdict()->code(), Code::kAborted);
  EXPECT_THAT(plan_->verdict()->message(),
              HasSubstr("child temporary (type) did not start: no luck"));
}

TEST_F(PlanTest, RestartsUpToTheIntensityAreAllowed) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")}, 2);
  for (int i = 0; i < 2; ++i) {
    Exits("a");
    Next();
    PassToNextLook();
    EXPECT_THAT(Next(), ElementsAre("start a"));
    Started("a");
  }
  EXPECT_EQ(plan_->verdict(), nullptr);
  Exits("a");
  EXPECT_THAT(Next(), ElementsAre("cancel b"));
  EXPECT_EQ(plan_->verdict(), nullptr);
  Exits("b", ExitReason::kCancelled);
  EXPECT_THAT(Next(), IsEmpty());
  ASSERT_NE(plan_->verdict(), nullptr);
  EXPECT_EQ(plan_->verdict()->code(), Code::kAborted);
  EXPECT_THAT(plan_->verdict()->message(), HasSubstr("child a (type)"));
  EXPECT_THAT(plan_->verdict()->message(), HasSubstr("only 2 restarts"));
  EXPECT_THAT(plan_->verdict()->message(), HasSubstr("failed: broken"));
}

TEST_F(PlanTest, ARestartCountsUntilItsPeriodIsOver) {
  for (const bool is_over : {false, true}) {
    BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")}, 1);
    Exits("a");
    const Duration first = now_;
    Next();
    PassToNextLook();
    Next();
    Started("a");
    now_ = first + seconds(5) + Duration(is_over ? 1 : 0);
    Exits("a");
    Next();
    EXPECT_EQ(plan_->verdict() == nullptr, is_over);
  }
}

TEST_F(PlanTest, NoIntensityIsNoRestart) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")}, 0);
  Exits("a");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_NE(plan_->verdict(), nullptr);
}

TEST_F(PlanTest, AnInitThatFailsForEverIsTriedLessAndLessOftenAndThenGivenUp) {
  Begin(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")});
  std::vector<Duration> pauses;
  int attempts = 0;
  while (Next() == std::vector<std::string>{"start a"}) {
    ++attempts;
    StartFailed("a");
    Next();
    const Duration pause = PassToNextLook();
    if (pause >= Duration(0)) pauses.push_back(pause);
  }
  EXPECT_EQ(attempts, 4);
  EXPECT_THAT(pauses, ElementsAre(milliseconds(100), milliseconds(200),
                                  milliseconds(400)));
  ASSERT_NE(plan_->verdict(), nullptr) << "b was never started";
  EXPECT_FALSE(plan_->is_started());
  EXPECT_THAT(plan_->verdict()->message(), HasSubstr("did not start: no luck"));
}

TEST_F(PlanTest, PausesGrowToTheirMostAndBeginAgainAfterAQuietPeriod) {
  SupervisorSpec spec = SpecOf(Strategy::kOneForOne, {ChildOf("a")}, 1000);
  spec.backoff.max = milliseconds(350);
  Begin(spec);
  std::vector<Duration> pauses;
  for (int i = 0; i < 100; ++i) {
    Next();
    StartFailed("a");
    Next();
    pauses.push_back(PassToNextLook());
  }
  EXPECT_EQ(pauses[0], milliseconds(100));
  EXPECT_EQ(pauses[1], milliseconds(200));
  EXPECT_EQ(pauses[2], milliseconds(350));
  EXPECT_EQ(pauses[99], milliseconds(350));
  Next();
  Started("a");
  Pass(seconds(5) - Duration(1));
  Exits("a");
  Next();
  EXPECT_EQ(PassToNextLook(), milliseconds(350));
  Next();
  Started("a");
  Pass(seconds(5));
  Exits("a");
  Next();
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
}

TEST_F(PlanTest, TheJitterTakesUpToItsPartOfAPause) {
  SupervisorSpec spec = SpecOf(Strategy::kOneForOne, {ChildOf("a")}, 1000);
  spec.backoff.jitter = 0.25;
  spec.backoff.max = spec.backoff.initial;
  Begin(spec);
  const auto pause_with = [&](uint64_t random) {
    random_ = random;
    Next();
    StartFailed("a");
    Next();
    return PassToNextLook();
  };
  EXPECT_EQ(pause_with(0), milliseconds(100));
  EXPECT_EQ(pause_with(uint64_t{1} << 63), Duration(87'500'000));
  EXPECT_GE(pause_with(UINT64_MAX), milliseconds(75));
  EXPECT_LT(pause_with(UINT64_MAX), Duration(75'000'100));
}

TEST_F(PlanTest, OneForOneDoesNotWaitForAnothersPause) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")}, 10);
  Exits("a");
  Next();
  PassToNextLook();
  Next();
  // The pause is now 200 ms.
  StartFailed("a");
  // The pause of `b` is 100 ms.
  Exits("b");
  Next();
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
  EXPECT_THAT(Next(), ElementsAre("start b"));
}

TEST_F(PlanTest, ExitsOfOthersChangeNothing) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  plan_->Exited(Pid(actord_pid{9, 9, 9, 9}), ExitReason::kFailed, {}, Moment());
  plan_->Exited(Pid(), ExitReason::kFailed, {}, Moment());
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
}

}  // namespace
}  // namespace actord::handlers
