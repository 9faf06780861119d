// Yields and calls of durable processes, over restarts.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

constexpr char kSleepASecond[] = R"(timer.sleep {"duration_ms":1000})";

class DurableYields : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.Start(Options()).ok()); }
  static RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"payment.*"};
    return options;
  }
  // Opens a worker for payments with these credits.
  RemoteWorkerId OpenWorker(uint32_t credits = 10) {
    struct Deaf final : TaskListener {
      void Wake() override {}
    };
    TaskTable& tasks = world.runtime().tasks;
    const RemoteWorkerId worker = tasks.Open({"payment.*"}, "till", Owner::kAny,
                                             std::make_shared<Deaf>());
    EXPECT_TRUE(tasks.AddCredits(worker, credits));
    return worker;
  }
  std::vector<TaskAttempt> Take(RemoteWorkerId worker) {
    return world.runtime().tasks.Take(worker, false, {}).tasks;
  }

  DurableWorld world;
};

TEST_F(DurableYields, TimerGoesOnOverARestart) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", kSleepASecond);
  world.Elapse(400 * kMs);
  world.Restart();
  world.Elapse(400 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "");
  world.Elapse(300 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "c1=");
}

TEST_F(DurableYields, TimerThatIsOverDuringTheDowntimeFiresOnce) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", kSleepASecond);
  world.Crash(/*keep_cache=*/false);
  world.Pass(5 * kSecond);
  ASSERT_TRUE(world.Start().ok());
  world.Settle();
  world.Elapse(kMs);
  EXPECT_EQ(world.NotesOf(puppet), "c1=");
  world.Restart();
  world.Elapse(10 * kSecond);
  EXPECT_EQ(world.NotesOf(puppet), "c1=");
}

TEST_F(DurableYields, DowntimeDoesNotCountIfTheWallClockWasSetBack) {
  for (const uint64_t set_back_ns : {kSecond, 3600 * kSecond}) {
    const Pid puppet = world.NewPuppet();
    world.Elapse(10 * kSecond);
    world.Tell(puppet, "yield", kSleepASecond);
    world.Elapse(400 * kMs);
    const uint64_t before_ns = world.store->NowNs();
    world.Crash(/*keep_cache=*/true);
    world.store_clock.set_back_ns += set_back_ns;
    ASSERT_TRUE(world.Start().ok());
    world.Settle();
    // The clock may begin again at the last record, but never runs ahead.
    EXPECT_LE(world.store->NowNs(), before_ns);
    EXPECT_GE(world.store->NowNs() + 400 * kMs, before_ns);
    world.Elapse(500 * kMs);
    EXPECT_EQ(world.NotesOf(puppet), "");
    world.Elapse(600 * kMs);
    EXPECT_EQ(world.NotesOf(puppet), "c1=");
  }
}

TEST_F(DurableYields, TimerThatFiredIsNotSeenTwice) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", kSleepASecond);
  world.Elapse(1001 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "c1=");
  world.Restart(/*keep_cache=*/false);
  world.Elapse(2 * kSecond);
  EXPECT_EQ(world.NotesOf(puppet), "c1=");
}

TEST_F(DurableYields, TimeoutGoesOnOverARestart) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "within", "1000 payment.charge {}");
  world.Elapse(500 * kMs);
  world.Restart(true, Options());
  world.Elapse(400 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "");
  world.Elapse(200 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "c1!4");
}

TEST_F(DurableYields, UnknownCommandFails) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "no.such {}");
  EXPECT_EQ(world.NotesOf(puppet), "c1!5");
  world.Restart();
  EXPECT_EQ(world.NotesOf(puppet), "c1!5");
}

TEST_F(DurableYields, CancelledYieldIsSeenAsCancelledOnce) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", kSleepASecond);
  // The step that gives the yield up is durable, and the next one is not.
  EXPECT_TRUE(world.Send(puppet, "cancel", "1").status.ok());
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c1!1");
  world.Restart(/*keep_cache=*/false);
  world.Elapse(2 * kSecond);
  EXPECT_EQ(world.NotesOf(puppet), "c1!1");
}

TEST_F(DurableYields, BlockedProcessStaysBlocked) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", kSleepASecond);
  world.Tell(puppet, "block");
  world.Tell(puppet, "note", "late");
  world.Restart();
  auto notes = world.Ask(puppet);
  world.Settle();
  EXPECT_FALSE(notes->has_value()) << "it has taken a message";
  world.Elapse(1001 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "c1= m:late");
}

// ---- Tasks

TEST_F(DurableYields, TaskIsHandedOutWhenItsStepIsDurable) {
  const Pid puppet = world.NewPuppet();
  const RemoteWorkerId worker = OpenWorker();
  EXPECT_TRUE(world.Send(puppet, "yield", "payment.charge {}").status.ok());
  world.Turn();
  EXPECT_TRUE(Take(worker).empty());
  world.Settle();
  const auto tasks = Take(worker);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].yield.payload.bytes, "{}");
  EXPECT_EQ(world.runtime().tasks.Complete(tasks[0].token, {{}, {"paid", ""}}),
            CompleteAnswer::kAccepted);
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c1=paid");
  world.Restart(/*keep_cache=*/false, Options());
  EXPECT_EQ(world.NotesOf(puppet), "c1=paid");
  EXPECT_TRUE(Take(OpenWorker()).empty());
}

TEST_F(DurableYields, TaskThatNobodyTookIsThereAfterARestart) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  world.Restart(/*keep_cache=*/false, Options());
  const auto tasks = Take(OpenWorker());
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].token.attempt, 1u);
}

TEST_F(DurableYields, TaskWaitsWhileItsPatternIsMissing) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  world.Tell(puppet, "yield", "payment.refund {}");
  world.Tell(puppet, "yield", "payment.charge {}");
  RuntimeOptions without;
  std::vector<std::string> warnings;
  without.log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::kWarning) warnings.emplace_back(text);
  };
  world.Restart(/*keep_cache=*/false, without);
  EXPECT_EQ(world.NotesOf(puppet), "");
  EXPECT_EQ(world.runtime().tasks.waiting(), 3u);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("2 outstanding yields"), std::string::npos);
  EXPECT_NE(warnings[1].find("payment.refund"), std::string::npos);
  // A person may answer it.
  EXPECT_EQ(world.runtime().tasks.Complete({.yield = {puppet, 2}},
                                           {{}, {"back", ""}}),
            CompleteAnswer::kAccepted);
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c2=back");
  warnings.clear();
  RuntimeOptions with = Options();
  with.log = without.log;
  world.Restart(/*keep_cache=*/false, with);
  EXPECT_TRUE(warnings.empty());
  const auto tasks = Take(OpenWorker());
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(world.runtime().tasks.Complete(tasks[0].token, {{}, {"paid", ""}}),
            CompleteAnswer::kAccepted);
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c2=back c1=paid");
}

TEST_F(DurableYields, CompletionThatIsNotInAStepIsThereAfterARestart) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  const auto tasks = Take(OpenWorker());
  ASSERT_EQ(tasks.size(), 1u);
  world.runtime().tasks.Complete(tasks[0].token, {{}, {"paid", ""}});
  // The disk gets the completion, and the worker of the scheduler no turn.
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false, Options());
  EXPECT_EQ(world.NotesOf(puppet), "c1=paid");
}

TEST_F(DurableYields, TaskWaitsForTheLeaseOfTheLastStart) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  ASSERT_EQ(Take(OpenWorker()).size(), 1u);
  world.Settle();
  world.Restart(/*keep_cache=*/false, Options());
  const RemoteWorkerId worker = OpenWorker();
  EXPECT_TRUE(Take(worker).empty());
  world.Elapse(3600 * kSecond);
  world.runtime().tasks.HandleDue();
  const auto tasks = Take(worker);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].token.attempt, 2u);
}

TEST_F(DurableYields, WorkerMayAnswerAnAttemptOfTheLastStart) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  const auto tasks = Take(OpenWorker());
  ASSERT_EQ(tasks.size(), 1u);
  world.Settle();
  world.Restart(/*keep_cache=*/false, Options());
  EXPECT_EQ(world.runtime().tasks.Complete(tasks[0].token, {{}, {"paid", ""}}),
            CompleteAnswer::kAccepted);
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c1=paid");
}

TEST_F(DurableYields, SingleAttemptIsNotHandedOutAgain) {
  RuntimeOptions options = Options();
  WorkPolicy policy;
  policy.pattern = "payment.*";
  policy.max_attempts = 1;
  options.work_policies = {policy};
  world.Stop();
  ASSERT_TRUE(world.Start(options).ok());
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  ASSERT_EQ(Take(OpenWorker()).size(), 1u);
  world.Settle();
  world.Restart(/*keep_cache=*/false, options);
  const RemoteWorkerId worker = OpenWorker();
  world.Elapse(3600 * kSecond);
  world.runtime().tasks.HandleDue();
  EXPECT_TRUE(Take(worker).empty());
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c1!14");
}

TEST_F(DurableYields, TaskThatIsTakenWhileItIsGivenUpDoesNoHarm) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge {}");
  const RemoteWorkerId worker = OpenWorker();
  EXPECT_TRUE(world.Send(puppet, "cancel", "1").status.ok());
  // A step has seen the end of the yield, and the task table has not.
  world.Turn();
  EXPECT_EQ(Take(worker).size(), 1u);
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c1!1");
  world.Restart(/*keep_cache=*/false, Options());
  EXPECT_EQ(world.NotesOf(puppet), "c1!1");
}

// ---- Calls

TEST_F(DurableYields, CallBetweenDurableProcessesIsAnsweredOverARestart) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  world.Tell(caller, "call", FormatPid(callee) + " hold");
  world.Elapse(5000 * kMs);
  world.Restart(/*keep_cache=*/false);
  world.Settle();
  const CallPage waiting = world.runtime().ListCalls({}, 0, 10);
  ASSERT_EQ(waiting.calls.size(), 1u);
  EXPECT_EQ(waiting.calls[0].caller, caller);
  EXPECT_EQ(waiting.calls[0].callee, callee);
  // The time before the restart counts.
  EXPECT_GE(world.core->clock.manual.UnixNs() - waiting.calls[0].begun_unix_ns,
            5000 * kMs);
  world.Tell(callee, "answer", "yes");
  EXPECT_EQ(world.NotesOf(caller), "c1=yes");
  world.Restart(/*keep_cache=*/false);
  world.Tell(callee, "answer", "again");
  EXPECT_EQ(world.NotesOf(caller), "c1=yes");
}

TEST_F(DurableYields, CallInAMailboxIsThereAfterARestart) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  world.Tell(callee, "yield", kSleepASecond);
  world.Tell(callee, "block");
  world.Tell(caller, "call", FormatPid(callee) + " get");
  world.Restart(/*keep_cache=*/false);
  world.Elapse(1001 * kMs);
  EXPECT_EQ(world.NotesOf(caller), "c1=c1=");
}

TEST_F(DurableYields, AnswerDoesNotWaitForTheDisk) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  EXPECT_TRUE(
      world.Send(caller, "call", FormatPid(callee) + " get").status.ok());
  world.Turn();
  const FoundProcess found = world.runtime().processes.Find(caller);
  EXPECT_EQ(found->yields_count.load(), 0u);
  EXPECT_EQ(found->steps.load(), 3u);
  world.Settle();
}

TEST_F(DurableYields, CallFailsWhenTheCalleeEnds) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  world.Tell(caller, "call", FormatPid(callee) + " hold");
  world.Tell(callee, "done");
  EXPECT_EQ(world.NotesOf(caller), "c1!10");
  world.Tell(caller, "call", FormatPid(callee) + " get");
  EXPECT_EQ(world.NotesOf(caller), "c1!10 c2!9");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(caller), "c1!10 c2!9");
}

TEST_F(DurableYields, CallFailsAfterARestartIfTheCalleeEndedBefore) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  world.Tell(caller, "yield", kSleepASecond);
  world.Tell(caller, "call", FormatPid(callee) + " hold");
  EXPECT_TRUE(world.Send(callee, "done", "").status.ok());
  world.Turn();  // The end is durable, and nobody has seen it.
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(caller), "c2!10");
}

TEST_F(DurableYields, TimeoutOfACallIsSeenOnce) {
  RuntimeOptions options = Options();
  options.default_yield_timeout = absl::Seconds(1);
  world.Stop();
  ASSERT_TRUE(world.Start(options).ok());
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  world.Tell(caller, "call", FormatPid(callee) + " hold");
  world.Elapse(1100 * kMs);
  EXPECT_EQ(world.NotesOf(caller), "c1!4");
  world.Tell(callee, "answer", "late");
  EXPECT_EQ(world.NotesOf(caller), "c1!4");
  world.Restart(/*keep_cache=*/false, options);
  EXPECT_EQ(world.NotesOf(caller), "c1!4");
}

TEST_F(DurableYields, CallToAVolatileProcessWaitsForTheDisk) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet("volatile", /*durable=*/false);
  EXPECT_TRUE(
      world.Send(caller, "call", FormatPid(callee) + " get").status.ok());
  world.Turn();
  EXPECT_EQ(world.runtime().processes.Find(callee)->steps.load(), 1u);
  world.Settle();
  EXPECT_EQ(world.NotesOf(caller), "c1=");
  world.Tell(caller, "call", FormatPid(callee) + " hold");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(caller), "c1= c2!10");
}

}  // namespace
}  // namespace actord::runtime
