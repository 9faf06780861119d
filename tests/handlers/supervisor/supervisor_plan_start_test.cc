// How a supervisor gives up a start that is late, and which ends it does not
// follow by a restart.
#include "tests/handlers/supervisor/supervisor_plan_fixture.h"

namespace actord::handlers {
namespace {

ChildSpec Impatient(std::string id, Restart restart = Restart::kPermanent) {
  ChildSpec child = ChildOf(std::move(id), restart);
  child.start_timeout = milliseconds(250);
  return child;
}

ChildSpec WithFinal(std::string id, Code code,
                    Restart restart = Restart::kPermanent) {
  ChildSpec child = ChildOf(std::move(id), restart);
  child.final_codes = uint32_t{1} << static_cast<uint32_t>(code);
  return child;
}

TEST_F(PlanTest, ALateStartIsGivenUpAndTriedAgainAfterThePause) {
  Begin(Strategy::kOneForOne, {Impatient("a"), ChildOf("b")});
  EXPECT_THAT(Next(), ElementsAre("start a"));
  Pass(milliseconds(249));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(PassToNextLook(), milliseconds(1));
  EXPECT_THAT(Next(), ElementsAre("give up a"));
  EXPECT_THAT(Next(), IsEmpty()) << "a start is given up once";
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
  StartFailed("a", Code::kCancelled);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(Child("a").last_end,
            "did not start: Init did not return within 0.25 s");
  EXPECT_EQ(Child("a").restarts, 1u);
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
  EXPECT_THAT(Next(), ElementsAre("start a"));
  EXPECT_EQ(PassToNextLook(), milliseconds(250)) << "each start has its own";
  EXPECT_THAT(Next(), ElementsAre("give up a"));
}

TEST_F(PlanTest, AStartInTimeIsNotGivenUp) {
  Begin(Strategy::kOneForOne, {Impatient("a")});
  Next();
  Pass(milliseconds(249));
  Started("a");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
  Pass(seconds(10));
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(PlanTest, AnInitThatReturnsAsItIsGivenUpHasStartedTheChild) {
  Begin(Strategy::kOneForOne, {Impatient("a")});
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("give up a"));
  Started("a");
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(plan_->is_started());
  // A failure later is not taken for the late start.
  Exits("a");
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
  StartFailed("a");
  EXPECT_EQ(Child("a").last_end, "did not start: no luck");
}

TEST_F(PlanTest, LateStartsCountTowardsTheIntensity) {
  Begin(Strategy::kOneForOne, {Impatient("a")}, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Next(), ElementsAre("start a"));
    PassToNextLook();
    EXPECT_THAT(Next(), ElementsAre("give up a"));
    StartFailed("a", Code::kCancelled);
    Next();
    PassToNextLook();
  }
  ASSERT_NE(plan_->verdict(), nullptr);
  EXPECT_THAT(plan_->verdict()->message(),
              HasSubstr("Init did not return within 0.25 s"));
}

TEST_F(PlanTest, LateStartsFurtherApartThanThePeriodAreTooManyInTheEnd) {
  ChildSpec slow = ChildOf("a");
  slow.start_timeout = seconds(60);
  Begin(Strategy::kOneForOne, {slow}, 2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(plan_->verdict(), nullptr) << i;
    EXPECT_THAT(Next(), ElementsAre("start a"));
    PassToNextLook();
    EXPECT_THAT(Next(), ElementsAre("give up a"));
    StartFailed("a", Code::kCancelled);
    Next();
    PassToNextLook();
  }
  ASSERT_NE(plan_->verdict(), nullptr);
  EXPECT_THAT(plan_->verdict()->message(),
              HasSubstr("child a (type) did not start in time 3 times in a "
                        "row, and only 2 such starts are allowed"));
}

TEST_F(PlanTest, ARefusalJustBeforeTheStartIsGivenUpStands) {
  Begin(Strategy::kOneForOne, {Impatient("a")});
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("give up a"));
  StartFailed("a", Code::kInvalidArgument);
  EXPECT_EQ(Child("a").last_end, "did not start: no luck");
}

TEST_F(PlanTest, AChildThatIsDoneHasNoFinalCode) {
  BeginAndStartAll(Strategy::kOneForOne,
                   {WithFinal("a", Code::kResourceExhausted)});
  Exits("a", ExitReason::kDone, Code::kResourceExhausted);
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
}

TEST_F(PlanTest, ALateStartOfAStartChildIsItsAnswer) {
  Begin(Strategy::kOneForOne, {});
  Next();
  ASSERT_TRUE(plan_->StartChild(Impatient("a"), 7).ok());
  EXPECT_THAT(Next(), ElementsAre("start a"));
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("give up a"));
  StartFailed("a", Code::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("answer 7 DEADLINE_EXCEEDED"));
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(PlanTest, AnEndWithAFinalCodeIsNotFollowedByARestart) {
  for (const Restart restart : {Restart::kPermanent, Restart::kTransient}) {
    reports_.clear();
    BeginAndStartAll(
        Strategy::kOneForAll,
        {WithFinal("a", Code::kFailedPrecondition, restart), ChildOf("b")});
    Exits("a", ExitReason::kFailed, Code::kFailedPrecondition);
    EXPECT_THAT(Next(), IsEmpty());
    EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
    EXPECT_FALSE(Child("a").wanted);
    EXPECT_EQ(plan_->restarts(), 0u);
    EXPECT_THAT(reports_,
                ElementsAre("child a (type) failed: broken; it is not "
                            "restarted, because FAILED_PRECONDITION is one of "
                            "its final_codes"));
    ASSERT_TRUE(plan_->RestartChild("a", 7).ok()) << "a call starts it again";
    EXPECT_THAT(Next(), ElementsAre("start a"));
  }
}

TEST_F(PlanTest, AnEndWithAnotherCodeIsFollowedByARestart) {
  BeginAndStartAll(Strategy::kOneForOne,
                   {WithFinal("a", Code::kFailedPrecondition)});
  Exits("a", ExitReason::kFailed, Code::kInternal);
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
}

TEST_F(PlanTest, AFirstStartThatFailsWithAFinalCodeFailsTheSupervisor) {
  Begin(Strategy::kOneForOne,
        {WithFinal("a", Code::kInvalidArgument), ChildOf("b")});
  Next();
  StartFailed("a", Code::kInvalidArgument);
  Next();
  ASSERT_NE(plan_->verdict(), nullptr);
  EXPECT_EQ(plan_->verdict()->message(),
            "child a (type) did not start: no luck");
}

TEST_F(PlanTest, ALaterStartThatFailsWithAFinalCodeIsNotTriedAgain) {
  BeginAndStartAll(Strategy::kOneForOne,
                   {WithFinal("a", Code::kInvalidArgument), ChildOf("b")});
  Exits("a");
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
  StartFailed("a", Code::kInvalidArgument);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(plan_->verdict(), nullptr);
  EXPECT_FALSE(Child("a").wanted);
}

}  // namespace
}  // namespace actord::handlers
