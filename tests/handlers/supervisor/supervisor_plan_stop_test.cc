// How a supervisor stops its children, and how it answers calls.
#include "tests/handlers/supervisor/supervisor_plan_fixture.h"

namespace actord::handlers {
namespace {

TEST_F(PlanTest, ChildThatDoesNotEndInTimeIsTerminated) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")});
  plan_->End(Status(Code::kCancelled, "enough"));
  EXPECT_THAT(Next(), ElementsAre("cancel b"));
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
  EXPECT_THAT(Next(), ElementsAre("terminate b"));
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
  Pass(seconds(100));
  EXPECT_THAT(Next(), IsEmpty());
  Exits("b", ExitReason::kTerminated);
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
  EXPECT_EQ(plan_->verdict(), nullptr);
  Exits("a", ExitReason::kCancelled);
  Next();
  ASSERT_NE(plan_->verdict(), nullptr);
  EXPECT_EQ(plan_->verdict()->code(), Code::kCancelled);
  EXPECT_EQ(plan_->verdict()->message(), "enough");
}

TEST_F(PlanTest, ATerminateThatWasRefusedIsRepeated) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  plan_->End(Status(Code::kCancelled, "enough"));
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("terminate a"));
  plan_->TerminateFailed(Child("a").pid, now_);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(PassToNextLook(), Plan::kTerminateAgain);
  EXPECT_THAT(Next(), ElementsAre("terminate a"));
}

TEST_F(PlanTest, AStopTimeoutOf0TerminatesAndNoneWaitsForEver) {
  ChildSpec at_once = ChildOf("at_once");
  at_once.stop_timeout = Duration(0);
  ChildSpec never = ChildOf("never");
  never.stop_timeout.reset();
  BeginAndStartAll(Strategy::kOneForOne, {never, at_once});
  plan_->End(Status(Code::kCancelled, "enough"));
  EXPECT_THAT(Next(), ElementsAre("terminate at_once"));
  Exits("at_once", ExitReason::kTerminated);
  EXPECT_THAT(Next(), ElementsAre("cancel never"));
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
}

TEST_F(PlanTest, AnInitThatDoesNotReturnDoesNotHoldUpTheEnd) {
  Begin(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")});
  Next();
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("start b"));
  plan_->End(Status(Code::kCancelled, "enough"));
  EXPECT_THAT(Next(), ElementsAre("give up b"));
  EXPECT_THAT(Next(), IsEmpty());
  StartFailed("b");
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
}

TEST_F(PlanTest, ChildThatStartsDuringTheEndIsStopped) {
  Begin(Strategy::kOneForOne, {ChildOf("a")});
  Next();
  plan_->End(Status(Code::kCancelled, "enough"));
  Next();
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
}

TEST_F(PlanTest, AnEndLeavesPausesAlone) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  Exits("a");
  Next();
  plan_->End(Status(Code::kCancelled, "enough"));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_NE(plan_->verdict(), nullptr);
  EXPECT_EQ(plan_->NextLook(now_), std::nullopt);
}

TEST_F(PlanTest, TheFirstReasonToEndCounts) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")}, 0);
  Exits("a");
  plan_->End(Status(Code::kCancelled, "enough"));
  Next();
  EXPECT_EQ(plan_->verdict()->code(), Code::kAborted);
}

TEST_F(PlanTest, StopChildIsAnsweredWhenTheChildHasEnded) {
  BeginAndStartAll(Strategy::kOneForAll, {ChildOf("a"), ChildOf("b")});
  ASSERT_TRUE(plan_->StopChild("a", 7).ok());
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
  EXPECT_EQ(plan_->StopChild("a", 8).code(), Code::kFailedPrecondition);
  EXPECT_EQ(plan_->RestartChild("a", 8).code(), Code::kFailedPrecondition);
  Exits("a", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("answer 7 a"));
  // Neither time nor the failure of another child restarts it.
  Exits("b");
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start b"));
  Started("b");
  EXPECT_THAT(Next(), IsEmpty());
  ASSERT_TRUE(plan_->StopChild("a", 9).ok());
  EXPECT_THAT(Next(), ElementsAre("answer 9 a"));
}

TEST_F(PlanTest, StopChildWaitsForAnInitAndStopsThen) {
  Begin(Strategy::kOneForOne, {ChildOf("a")});
  Next();
  ASSERT_TRUE(plan_->StopChild("a", 7).ok());
  EXPECT_THAT(Next(), IsEmpty());
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
  Exits("a", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("answer 7 a"));
}

TEST_F(PlanTest, RestartChildIsAnsweredIfAnotherChildTakesItAlong) {
  BeginAndStartAll(Strategy::kOneForAll,
                   {ChildOf("a"), ChildOf("t", Restart::kTemporary)});
  ASSERT_TRUE(plan_->RestartChild("t", 7).ok());
  EXPECT_THAT(Next(), ElementsAre("cancel t"));
  Exits("t", ExitReason::kCancelled);
  Exits("a");
  EXPECT_THAT(Next(), ElementsAre("answer 7 ABORTED"));
  EXPECT_THAT(Ids(), ElementsAre("a")) << "a temporary child is forgotten";
}

TEST_F(PlanTest, RestartChildDoesNotWaitForAPause) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  Exits("a");
  Next();
  ASSERT_TRUE(plan_->RestartChild("a", 7).ok());
  EXPECT_THAT(Next(), ElementsAre("start a"));
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("answer 7 a with a PID"));
}

TEST_F(PlanTest, RestartChildConcernsNoOthers) {
  BeginAndStartAll(Strategy::kOneForAll, {ChildOf("a"), ChildOf("b")}, 0);
  ASSERT_TRUE(plan_->RestartChild("a", 7).ok());
  EXPECT_THAT(Next(), ElementsAre("cancel a"));
  Exits("a", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("start a"));
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("answer 7 a with a PID"));
  EXPECT_EQ(plan_->restarts(), 0u);
}

TEST_F(PlanTest, ARestartThatFailsIsAnsweredAndTriedAgain) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  ASSERT_TRUE(plan_->RestartChild("a", 7).ok());
  Next();
  Exits("a", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("start a"));
  StartFailed("a");
  EXPECT_THAT(Next(), ElementsAre("answer 7 INTERNAL"));
  EXPECT_EQ(PassToNextLook(), milliseconds(100));
  EXPECT_THAT(Next(), ElementsAre("start a"));
}

TEST_F(PlanTest, ARestartThatTheEndOvertakesIsNoSuccess) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  ASSERT_TRUE(plan_->RestartChild("a", 7).ok());
  Next();
  plan_->End(Status(Code::kCancelled, "enough"));
  Exits("a", ExitReason::kCancelled);
  EXPECT_THAT(Next(), ElementsAre("answer 7 ABORTED"));
}

TEST_F(PlanTest, ANewChildWhoseInitFailsIsForgotten) {
  BeginAndStartAll(Strategy::kOneForAll, {ChildOf("a")}, 0);
  ASSERT_TRUE(plan_->StartChild(ChildOf("b"), 7).ok());
  EXPECT_EQ(plan_->StartChild(ChildOf("b"), 8).code(), Code::kAlreadyExists);
  EXPECT_THAT(Next(), ElementsAre("start b"));
  StartFailed("b");
  EXPECT_THAT(Next(), ElementsAre("answer 7 INTERNAL"));
  EXPECT_THAT(Ids(), ElementsAre("a"));
  EXPECT_EQ(plan_->verdict(), nullptr);
}

TEST_F(PlanTest, ANewChildIsTakenAlongAndAnsweredWhenItIsUp) {
  BeginAndStartAll(Strategy::kOneForAll, {ChildOf("a")});
  ASSERT_TRUE(plan_->StartChild(ChildOf("b"), 7).ok());
  EXPECT_THAT(Next(), ElementsAre("start b"));
  Exits("a");
  Next();
  Started("b");
  EXPECT_THAT(Next(), ElementsAre("cancel b"));
  Exits("b", ExitReason::kCancelled);
  Next();
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
  Started("a");
  EXPECT_THAT(Next(), ElementsAre("start b"));
  Started("b");
  EXPECT_THAT(Next(), ElementsAre("answer 7 b with a PID"));
}

TEST_F(PlanTest, DeleteChildWantsOneThatIsDownForGood) {
  BeginAndStartAll(Strategy::kOneForOne,
                   {ChildOf("a"), ChildOf("b", Restart::kTransient)});
  EXPECT_EQ(plan_->DeleteChild("a").code(), Code::kFailedPrecondition);
  Exits("a");
  EXPECT_EQ(plan_->DeleteChild("a").code(), Code::kFailedPrecondition);
  Exits("b", ExitReason::kDone);
  EXPECT_TRUE(plan_->DeleteChild("b").ok());
  EXPECT_EQ(plan_->DeleteChild("b").code(), Code::kNotFound);
  EXPECT_THAT(Ids(), ElementsAre("a"));
}

TEST_F(PlanTest, EndingSupervisorRefusesChanges) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a")});
  plan_->End(Status(Code::kCancelled, "enough"));
  EXPECT_EQ(plan_->StartChild(ChildOf("b"), 7).code(), Code::kUnavailable);
  EXPECT_EQ(plan_->StopChild("a", 7).code(), Code::kUnavailable);
  EXPECT_EQ(plan_->RestartChild("a", 7).code(), Code::kUnavailable);
  EXPECT_EQ(plan_->DeleteChild("a").code(), Code::kUnavailable);
}

}  // namespace
}  // namespace actord::handlers
