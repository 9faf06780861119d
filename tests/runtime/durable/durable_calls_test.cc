// Calls with a message id, answers to tasks, and the list of calls, over the
// end of the program.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableCalls : public ::testing::Test {
 protected:
  DurableCalls() { EXPECT_TRUE(world_.Start().ok()); }

  void Restart() {
    world_.Crash(/*keep_cache=*/false);
    ASSERT_EQ(world_.Start(), absl::OkStatus());
  }
  std::shared_ptr<DurableWorld::Reply> Add(const Pid& to, std::string amount,
                                           Owner owner = Owner::kNobody) {
    return world_.CallOnce("id", to, "add", std::move(amount), owner);
  }
  static std::string ReasonFor(const DurableWorld::Reply& reply) {
    return reply.answer.has_value() ? ReasonOf(reply.answer->status()) : "";
  }

  DurableWorld world_;
};

TEST_F(DurableCalls, RepeatGetsTheAnswerOfTheFirst) {
  const Pid pid = world_.NewAccount(1);
  const auto first = Add(pid, "2");
  world_.Settle();
  EXPECT_EQ(first->text(), "3");
  EXPECT_FALSE(first->is_duplicate());
  EXPECT_EQ((*first->answer)->pid, pid);
  world_.Tell(pid, "add", "10");
  for (int i = 0; i < 3; ++i) {
    const auto repeat = Add(pid, "2");
    world_.Settle();
    EXPECT_EQ(repeat->text(), "3");
    EXPECT_TRUE(repeat->is_duplicate());
    EXPECT_EQ((*repeat->answer)->pid, pid);
    EXPECT_EQ(ReasonFor(*Add(pid, "5")), reason::kRequestIdReused);
    EXPECT_EQ(world_.BalanceOf(pid), "13");
    Restart();
  }
  const auto other = Add(pid, "2", Owner{1});
  world_.Settle();
  EXPECT_EQ(other->text(), "15") << "another owner has ids of its own";
}

TEST_F(DurableCalls, CallThatNoStepHasTakenGoesOnAfterARestart) {
  const Pid pid = world_.NewAccount(1);
  const auto first = Add(pid, "2");
  // The call is on the disk, and the process has had no turn.
  world_.store->Work();
  EXPECT_FALSE(first->answer.has_value());
  Restart();
  const auto repeat = Add(pid, "2");
  EXPECT_FALSE(repeat->answer.has_value());
  EXPECT_EQ(ReasonFor(*Add(pid, "5")), reason::kRequestIdReused);
  world_.Settle();
  EXPECT_EQ(repeat->text(), "3");
  EXPECT_TRUE(repeat->is_duplicate());
  EXPECT_EQ(world_.BalanceOf(pid), "3");
}

TEST_F(DurableCalls, AnswerThatIsNotDurableIsNotTold) {
  const Pid pid = world_.NewAccount(1);
  const auto first = Add(pid, "2");
  const auto repeat = Add(pid, "2");
  world_.store->Work();
  world_.Turn();
  // The call is durable, and its step is not.
  while (world_.store->releases().Run()) {
  }
  EXPECT_FALSE(first->answer.has_value());
  EXPECT_FALSE(repeat->answer.has_value());
  world_.store->Work();
  EXPECT_EQ(first->text(), "3");
  EXPECT_EQ(repeat->text(), "3");
}

TEST_F(DurableCalls, CallThatWasNotSyncedIsForgotten) {
  const Pid pid = world_.NewAccount(1);
  const auto first = Add(pid, "2");
  world_.Turn();
  EXPECT_FALSE(first->answer.has_value());
  Restart();
  EXPECT_EQ(world_.BalanceOf(pid), "1");
  const auto again = Add(pid, "2");
  world_.Settle();
  EXPECT_EQ(again->text(), "3");
  EXPECT_FALSE(again->is_duplicate());
}

TEST_F(DurableCalls, CallThatIsHeldIsAnsweredAfterARestart) {
  const Pid pid = world_.NewPuppet();
  const auto first = world_.CallOnce("id", pid, "hold");
  world_.Settle();
  for (int i = 0; i < 2; ++i) {
    Restart();
    const auto repeat = world_.CallOnce("id", pid, "hold");
    world_.Settle();
    EXPECT_FALSE(repeat->answer.has_value());
  }
  const auto waits = world_.CallOnce("id", pid, "hold");
  world_.Tell(pid, "answer", "late");
  EXPECT_EQ(waits->text(), "late");
  Restart();
  const auto repeat = world_.CallOnce("id", pid, "hold");
  world_.Settle();
  EXPECT_EQ(repeat->text(), "late");
}

TEST_F(DurableCalls, ErrorOfTheProcessIsKept) {
  const Pid pid = world_.NewAccount(1);
  const auto first = world_.CallOnce("id", pid, "refuse");
  world_.Settle();
  for (int i = 0; i < 2; ++i) {
    const auto repeat = world_.CallOnce("id", pid, "refuse");
    world_.Settle();
    ASSERT_TRUE(repeat->answer.has_value());
    EXPECT_EQ(repeat->answer->status(), first->answer->status());
    EXPECT_EQ(ReasonFor(*repeat), reason::kCallFailed);
    EXPECT_TRUE(absl::IsNotFound(repeat->answer->status()));
    Restart();
  }
}

// Whether a step has taken the call, or it still waits in the mailbox.
TEST_F(DurableCalls, EndOfTheProcessIsKeptAsTheAnswer) {
  for (const bool is_held : {true, false}) {
    const Pid pid = world_.NewPuppet();
    const std::string id = is_held ? "held" : "waits";
    const auto first = world_.CallOnce(id, pid, "hold");
    if (is_held) {
      world_.Settle();
    } else {
      world_.store->Work();
    }
    EXPECT_FALSE(first->answer.has_value());
    ASSERT_TRUE(world_.runtime()
                    .Control(Owner::kAny, pid, kEventTerminate, "end")
                    .status.ok());
    world_.Settle();
    EXPECT_EQ(ReasonFor(*first), reason::kCalleeEnded);
    for (int i = 0; i < 2; ++i) {
      const auto repeat = world_.CallOnce(id, pid, "hold");
      world_.Settle();
      ASSERT_TRUE(repeat->answer.has_value());
      EXPECT_EQ(repeat->answer->status(), first->answer->status());
      Restart();
    }
  }
}

TEST_F(DurableCalls, EndAfterARestartIsTold) {
  const Pid pid = world_.NewPuppet();
  world_.CallOnce("id", pid, "hold");
  world_.Settle();
  Restart();
  const auto repeat = world_.CallOnce("id", pid, "hold");
  world_.Tell(pid, "done");
  EXPECT_EQ(ReasonFor(*repeat), reason::kCalleeEnded);
}

TEST_F(DurableCalls, CallerThatGivesUpTakesNothingBack) {
  const Pid pid = world_.NewPuppet();
  const auto first = world_.CallOnce("id", pid, "hold");
  const auto second = world_.CallOnce("id", pid, "hold");
  KeptCalls& calls = *world_.runtime().kept_calls;
  EXPECT_TRUE(calls.Cancel(first->id));
  EXPECT_FALSE(calls.Cancel(first->id));
  world_.Settle();
  world_.Tell(pid, "answer", "yes");
  EXPECT_FALSE(first->answer.has_value());
  EXPECT_EQ(second->text(), "yes");
  EXPECT_FALSE(calls.Cancel(second->id)) << "it has its answer";
}

TEST_F(DurableCalls, RefusedCallIsForgotten) {
  world_.Stop();
  RuntimeOptions options;
  options.counts_owners = true;
  ASSERT_TRUE(world_.Start(options).ok());
  SubmitRequest request{"account", "", {"1", ""}, {}};
  request.owner = Owner{1};
  request.durable = true;
  Pid pid;
  world_.runtime().admission.Submit(
      request, Pid{}, true,
      [&](absl::StatusOr<Pid> begun) { pid = begun.value(); });
  world_.Settle();
  // The call is in the journal before the quota refuses it.
  ASSERT_TRUE(world_.runtime().SetQuotas({.mailbox_bytes = 1}, {}).ok());
  const auto refused = Add(pid, "2");
  EXPECT_FALSE(refused->answer.has_value()) << "the journal has its call";
  world_.Settle();
  EXPECT_EQ(ReasonFor(*refused), reason::kClientQuota);
  Restart();
  const auto again = Add(pid, "2");
  world_.Settle();
  EXPECT_EQ(again->text(), "3");
  EXPECT_FALSE(again->is_duplicate());
}

// The process ends when its call is in the journal, and not yet in its mailbox.
TEST_F(DurableCalls, CallThatCameTooLateIsRefused) {
  const Pid pid = world_.NewAccount(1);
  world_.Send(pid, "end", "");
  int looks = 0;
  world_.store_clock.hook = [&] {
    if (++looks == 1) world_.Settle();
  };
  const auto late = Add(pid, "2");
  world_.store_clock.hook = nullptr;
  world_.Settle();
  EXPECT_EQ(ReasonFor(*late), reason::kProcessEnded);
  Restart();
  const auto again = Add(pid, "2");
  world_.Settle();
  EXPECT_EQ(ReasonFor(*again), reason::kProcessEnded);
}

TEST_F(DurableCalls, VolatileProcessIsRefused) {
  auto told = world_.Submit("1", "", /*durable=*/false);
  world_.Settle();
  EXPECT_EQ(ReasonFor(*Add(***told, "2")), reason::kNotDurable);
  EXPECT_EQ(world_.BalanceOf(***told), "1");
}

TEST_F(DurableCalls, AnswerIsForgottenAfterItsTime) {
  const Pid pid = world_.NewPuppet();
  world_.CallOnce("id", pid, "hold");
  world_.Settle();
  // While there is no answer, the time does not run.
  world_.clock.AdvanceNs(2 * world_.applier.request_id_ttl_ns);
  Restart();
  const auto repeat = world_.CallOnce("id", pid, "hold");
  world_.Tell(pid, "answer", "yes");
  EXPECT_EQ(repeat->text(), "yes");
  EXPECT_TRUE(repeat->is_duplicate());
  world_.clock.AdvanceNs(world_.applier.request_id_ttl_ns + kSecond);
  Restart();
  const auto first = world_.CallOnce("id", pid, "hold");
  world_.Settle();
  EXPECT_FALSE(first->answer.has_value());
  world_.Tell(pid, "answer", "new");
  EXPECT_EQ(first->text(), "new");
  EXPECT_FALSE(first->is_duplicate());
}

TEST_F(DurableCalls, StoreLimitsTheNumberOfCalls) {
  world_.Stop();
  world_.applier.request_id_max = 2;
  ASSERT_TRUE(world_.Start().ok());
  const Pid pid = world_.NewPuppet();
  world_.CallOnce("1", pid, "hold");
  world_.CallOnce("2", pid, "hold");
  const auto third = world_.CallOnce("3", pid, "hold");
  EXPECT_EQ(ReasonFor(*third), reason::kMailboxFull);
  world_.Settle();
  world_.Tell(pid, "answer", "yes");  // the last that it holds
  const auto more = world_.CallOnce("3", pid, "get");
  world_.Settle();
  EXPECT_TRUE(more->answer.has_value());
}

// ---- Answers to tasks

class DurableAnswers : public DurableCalls {
 protected:
  // A task that waits, as the only one of its process.
  YieldToken NewTask() {
    const Pid pid = world_.NewPuppet();
    world_.Tell(pid, "yield", "out.task {}");
    EXPECT_EQ(world_.runtime().tasks.waiting(), 1u);
    return {pid, 1};
  }
  CompleteAnswer Complete(const TaskToken& token, const std::string& text) {
    const CompleteAnswer answer = world_.runtime().tasks.Complete(
        token, {absl::StatusCode::kOk, {text, ""}});
    world_.Settle();
    return answer;
  }
  static RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"out.*"};
    return options;
  }
  void Again() { world_.Restart(/*keep_cache=*/false, Options()); }
  void SetUp() override {
    world_.Stop();
    ASSERT_TRUE(world_.Start(Options()).ok());
  }
};

TEST_F(DurableAnswers, RepeatsAreAnsweredAsBeforeTheRestart) {
  const YieldToken token = NewTask();
  EXPECT_EQ(Complete({token, 0}, "done"), CompleteAnswer::kAccepted);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Complete({token, 0}, "done"), CompleteAnswer::kDuplicate);
    EXPECT_EQ(Complete({token, 0}, "other"), CompleteAnswer::kConflict);
    EXPECT_EQ(Complete({token, 1}, "done"), CompleteAnswer::kUnknown)
        << "no worker had an attempt";
    EXPECT_FALSE(world_.runtime().tasks.MayAnswer(token, Owner{1}));
    EXPECT_TRUE(world_.runtime().tasks.MayAnswer(token, Owner::kNobody));
    Again();
  }
  EXPECT_EQ(world_.NotesOf(token.pid), "c1=done");
}

TEST_F(DurableAnswers, AttemptsOfWorkersAreKnownAfterARestart) {
  const YieldToken token = NewTask();
  class Deaf : public TaskListener {
    void Wake() override {}
  };
  TaskTable& tasks = world_.runtime().tasks;
  const RemoteWorkerId worker =
      tasks.Open({"out.*"}, "worker", Owner{5}, std::make_shared<Deaf>());
  ASSERT_TRUE(tasks.AddCredits(worker, 1));
  const TaskBatch batch = tasks.Take(worker, false, {});
  ASSERT_EQ(batch.tasks.size(), 1u);
  world_.Settle();
  Again();
  // Its worker may answer it, and nobody else.
  EXPECT_TRUE(world_.runtime().tasks.MayAnswer(token, Owner{5}));
  EXPECT_FALSE(world_.runtime().tasks.MayAnswer(token, Owner{6}));
  EXPECT_EQ(Complete({token, 1}, "done"), CompleteAnswer::kAccepted);
  for (int i = 0; i < 2; ++i) {
    Again();
    EXPECT_EQ(Complete({token, 1}, "done"), CompleteAnswer::kDuplicate);
    EXPECT_EQ(Complete({token, 1}, "other"), CompleteAnswer::kConflict);
    EXPECT_EQ(Complete({token, 2}, "done"), CompleteAnswer::kUnknown);
    EXPECT_TRUE(world_.runtime().tasks.MayAnswer(token, Owner{5}));
    EXPECT_FALSE(world_.runtime().tasks.MayAnswer(token, Owner{6}));
  }
}

TEST_F(DurableAnswers, AreRememberedWhenTheProcessHasEnded) {
  const YieldToken token = NewTask();
  Complete({token, 0}, "done");
  world_.Tell(token.pid, "done");
  Again();
  EXPECT_EQ(Complete({token, 0}, "done"), CompleteAnswer::kDuplicate);
}

TEST_F(DurableAnswers, AreForgottenAfterTheirTime) {
  const YieldToken token = NewTask();
  Complete({token, 0}, "done");
  const uint64_t ttl_ns = world_.runtime().limits.answered_yield_ttl_ns();
  world_.clock.AdvanceNs(ttl_ns / 2);
  Again();
  EXPECT_EQ(Complete({token, 0}, "done"), CompleteAnswer::kDuplicate);
  world_.clock.AdvanceNs(ttl_ns / 2 + kSecond);
  Again();
  EXPECT_EQ(Complete({token, 0}, "done"), CompleteAnswer::kUnknown);
}

TEST_F(DurableCalls, CallIsListedWithTheSameDeadlineAfterARestart) {
  RuntimeOptions options;
  options.default_yield_timeout = absl::Seconds(60);
  world_.Restart(/*keep_cache=*/false, options);
  const Pid caller = world_.NewPuppet();
  const Pid callee = world_.NewPuppet();
  world_.Tell(caller, "call", FormatPid(callee) + " hold");
  world_.Elapse(40'000 * kMs);
  const auto deadline = [&]() -> absl::Time {
    const CallPage page = world_.runtime().ListCalls({}, 0, 10);
    EXPECT_EQ(page.calls.size(), 1u);
    if (page.calls.empty()) return absl::InfinitePast();
    return absl::FromUnixNanos(
        static_cast<int64_t>(page.calls[0].deadline_unix_ns));
  };
  const absl::Time before = deadline();
  world_.Restart(/*keep_cache=*/false, options);
  world_.Settle();
  EXPECT_LT(absl::AbsDuration(deadline() - before), absl::Seconds(2));
}

}  // namespace
}  // namespace actord::runtime
