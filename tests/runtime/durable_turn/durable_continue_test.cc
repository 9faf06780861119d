// Durable processes that begin again (continue_as).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tests/runtime/durable/durable_fixture.h"
#include "tests/runtime/durable_turn/continuing_processes.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kOneSecond = 1'000'000'000;

class DurableContinue : public ::testing::Test {
 protected:
  void SetUp() override {
    Sum::refused = "no input";
    world.more_types = {&actord::kProcessType<Sum>, &actord::kProcessType<Tab>};
    ASSERT_TRUE(world.Start(Options()).ok());
  }
  RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"payment.*"};
    options.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors.emplace_back(text);
    };
    return options;
  }
  void TearDown() override {
    EXPECT_TRUE(errors.empty()) << errors.front();
    EXPECT_EQ(world.failed, absl::OkStatus());
  }
  Pid New(const std::string& type, std::string input = "",
          std::string name = "") {
    auto told = world.Submit(std::move(input), std::move(name), true, type);
    world.Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  void Restart() { world.Restart(/*keep_cache=*/false, Options()); }
  std::vector<TaskAttempt> Take() {
    struct Deaf final : TaskListener {
      void Wake() override {}
    };
    TaskTable& tasks = world.runtime().tasks;
    const RemoteWorkerId worker = tasks.Open({"payment.*"}, "till", Owner::kAny,
                                             std::make_shared<Deaf>());
    EXPECT_TRUE(tasks.AddCredits(worker, 10));
    auto batch = tasks.Take(worker, false, {});
    world.Settle();
    return std::move(batch.tasks);
  }

  DurableWorld world;
  std::vector<std::string> errors;
};

TEST_F(DurableContinue, CoroutineGoesOnWithItsInputOverRestarts) {
  const Pid sum = New("sum", "100", "the-sum");
  for (int i = 1; i <= 10; ++i) {
    world.Tell(sum, "add", std::to_string(i));
    Restart();
    EXPECT_EQ(world.BalanceOf(sum), std::to_string(100 + i * (i + 1) / 2));
    EXPECT_EQ(*world.runtime().names.Find(Owner::kNobody, "the-sum"), sum);
  }
  // The timers of former lives are gone.
  world.Elapse(uint64_t{3'599} * kOneSecond);
  EXPECT_EQ(world.BalanceOf(sum), "155");
}

TEST_F(DurableContinue, HistoryBeginsAtTheNewestLife) {
  world.Stop();
  RuntimeOptions options = Options();
  options.durable.max_history_steps = 20;
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  const Pid sum = New("sum");
  for (int i = 0; i < 61; ++i) world.Tell(sum, "add", "1");
  EXPECT_EQ(world.BalanceOf(sum), "61");
  Sum::lives = 0;
  world.Restart(/*keep_cache=*/false, options);
  EXPECT_EQ(world.BalanceOf(sum), "61");
  EXPECT_EQ(Sum::lives, 1) << "former lives are run again";
}

TEST_F(DurableContinue, NextMethodLastsOverARestart) {
  const Pid sum = New("sum");
  world.Tell(sum, "add", "1");
  world.Tell(sum, "switch");
  Restart();
  world.Tell(sum, "add", "1");
  for (int i = 0; i < 5; ++i) world.Tell(sum, "add", "1");
  Restart();
  EXPECT_EQ(world.BalanceOf(sum), "13");
}

TEST_F(DurableContinue, MessagesOfTheSameStepAreHandedOn) {
  const Pid sum = New("sum");
  for (const bool crashes : {false, true}) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(world.Send(sum, "add", "1").status.ok());
    }
    while (world.store->Work()) {
    }
    if (crashes) Restart();
    world.Settle();
  }
  EXPECT_EQ(world.BalanceOf(sum), "40");
  Restart();
  EXPECT_EQ(world.BalanceOf(sum), "40");
}

TEST_F(DurableContinue, UnseenMessagesOfVolatileSendersLastOnceTaken) {
  const Pid puppet = world.NewPuppet();
  const Pid sender = world.NewPuppet("volatile", false);
  // In one step of the volatile process, and so in one of the durable one.
  world.Send(sender, "send", FormatPid(puppet) + " note before");
  world.Send(sender, "send", FormatPid(puppet) + " again notes next");
  world.Send(sender, "send", FormatPid(puppet) + " note after");
  world.Settle();
  Restart();
  EXPECT_EQ(world.NotesOf(puppet), "next m:after");
}

TEST_F(DurableContinue, UnseenMessagesAreThereBeforeTheFirstStep) {
  for (int turns = 0; turns < 5; ++turns) {
    SCOPED_TRACE(turns);
    const Pid puppet = world.NewPuppet();
    world.Send(puppet, "again", "notes new");
    world.Send(puppet, "note", "after");
    world.Turns(turns);
    while (world.store->Work()) {
    }
    Restart();
    EXPECT_EQ(world.NotesOf(puppet), "new m:after");
  }
}

TEST_F(DurableContinue, ImageTypeGoesOnFromItsNextLife) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "note", "old");
  world.Tell(puppet, "again", "notes new");
  Restart();
  EXPECT_EQ(world.NotesOf(puppet), "new");
  world.Tell(puppet, "note", "one");
  Restart();
  EXPECT_EQ(world.NotesOf(puppet), "new m:one");
}

TEST_F(DurableContinue, TasksAreWithdrawnWhenTheStepIsDurable) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge 7");
  const std::vector<TaskAttempt> taken = Take();
  ASSERT_EQ(taken.size(), 1u);
  world.Send(puppet, "yield", "payment.charge 8");
  world.Send(puppet, "again", "notes new");
  world.Settle();
  EXPECT_EQ(Take().size(), 0u);
  const auto answer = [&] {
    return world.runtime().tasks.Complete(taken[0].token, {{}, {"paid", ""}});
  };
  EXPECT_EQ(answer(), CompleteAnswer::kExpired);
  Restart();
  EXPECT_NE(answer(), CompleteAnswer::kAccepted);
  EXPECT_EQ(Take().size(), 0u);
  EXPECT_EQ(world.NotesOf(puppet), "new");
}

TEST_F(DurableContinue, StepThatIsLostWithdrawsNothing) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "payment.charge 7");
  world.Send(puppet, "again", "notes new");
  world.Turn();
  // Before the disk has the step.
  EXPECT_EQ(Take().size(), 1u);
}

TEST_F(DurableContinue, AnswersOnTheirWayReachNoLife) {
  for (const bool crashes : {false, true}) {
    const Pid puppet = world.NewPuppet();
    world.Tell(puppet, "yield", "payment.charge 7");
    const std::vector<TaskAttempt> taken = Take();
    ASSERT_EQ(taken.size(), 1u);
    // The step that gets both notes the answer, and its notes end with it.
    world.Send(puppet, "again", "notes new");
    EXPECT_EQ(world.runtime().tasks.Complete(taken[0].token, {{}, {"1", ""}}),
              CompleteAnswer::kAccepted);
    if (crashes) {
      while (world.store->Work()) {
      }
      Restart();
    }
    world.Settle();
    EXPECT_EQ(world.NotesOf(puppet), "new");
    Restart();
    EXPECT_EQ(world.NotesOf(puppet), "new");
  }
}

TEST_F(DurableContinue, AnswerThatComesDuringTheLastStepReachesNoLife) {
  for (const bool crashes : {false, true}) {
    const Pid puppet = world.NewPuppet();
    world.Tell(puppet, "yield", "payment.charge 7");
    const std::vector<TaskAttempt> taken = Take();
    ASSERT_EQ(taken.size(), 1u);
    Puppet::before_again = [&] {
      EXPECT_EQ(world.runtime().tasks.Complete(taken[0].token, {{}, {"1", ""}}),
                CompleteAnswer::kAccepted);
    };
    world.Send(puppet, "again", "notes new");
    world.Send(puppet, "yield", "payment.charge 8");
    world.Turn();
    Puppet::before_again = nullptr;
    while (world.store->Work()) {
    }
    if (crashes) Restart();
    world.Settle();
    EXPECT_EQ(world.NotesOf(puppet), "new");
    const std::vector<TaskAttempt> next = Take();
    ASSERT_EQ(next.size(), 1u);
    EXPECT_EQ(world.runtime().tasks.Complete(next[0].token, {{}, {"2", ""}}),
              CompleteAnswer::kAccepted);
    world.Settle();
    EXPECT_EQ(world.NotesOf(puppet), "new c2=2");
    Restart();
    EXPECT_EQ(world.NotesOf(puppet), "new c2=2");
  }
}

TEST_F(DurableContinue, CallsThatTheProcessOwesFailOnceAndForAll) {
  const Pid caller = world.NewPuppet();
  const Pid callee = world.NewPuppet();
  world.Tell(caller, "call", FormatPid(callee) + " hold");
  const auto kept = world.CallOnce("call-1", callee, "hold");
  world.Settle();
  world.Tell(callee, "again", "notes new");
  EXPECT_EQ(world.NotesOf(caller), "c1!10");
  ASSERT_TRUE(kept->answer.has_value());
  EXPECT_THAT(kept->text(), ::testing::HasSubstr("without a reply"));
  Restart();
  EXPECT_EQ(world.NotesOf(caller), "c1!10");
  const auto again = world.CallOnce("call-1", callee, "hold");
  world.Settle();
  EXPECT_EQ(again->text(), kept->text());
  EXPECT_EQ(world.NotesOf(callee), "new");
}

TEST_F(DurableContinue, CallsOfTheSameStepAreAnsweredByTheNextLife) {
  for (const bool crashes : {false, true}) {
    const Pid caller = world.NewPuppet();
    const Pid callee = world.NewPuppet();
    world.Send(callee, "again", "notes new");
    world.Send(caller, "call", FormatPid(callee) + " get");
    const auto kept =
        world.CallOnce(crashes ? "call-2" : "call-1", callee, "get");
    const auto plain = world.Ask(callee);
    world.Turn();
    if (crashes) {
      while (world.store->Work()) {
      }
      Restart();
    }
    world.Settle();
    EXPECT_EQ(world.NotesOf(caller), "c1=new");
    if (!crashes) {
      EXPECT_EQ(kept->text(), "new");
      EXPECT_EQ(plain->value_or("no answer"), "new");
    }
  }
}

TEST_F(DurableContinue, TiesStayAndInitThatRefusesEndsTheProcess) {
  Sum::refused = "3";
  const Pid sum = New("sum");
  const Pid watcher = world.NewPuppet();
  world.Tell(watcher, "monitor", FormatPid(sum));
  const auto outcome = world.Await(sum);
  world.Tell(sum, "switch");
  Restart();
  Sum::refused = "6";
  for (int i = 0; i < 3; ++i) world.Tell(sum, "add", "1");
  EXPECT_EQ(world.NotesOf(watcher), "x1:4");
  const auto again = world.Await(sum);
  world.Settle();
  ASSERT_TRUE(again->has_value() && (*again)->ok());
  EXPECT_EQ((**again)->kind, EndKind::kInitRefused);
  EXPECT_EQ((**again)->code, absl::StatusCode::kOutOfRange);
  Restart();
  EXPECT_EQ(world.NotesOf(watcher), "x1:4");
}

TEST_F(DurableContinue, LifetimeIsThatOfTheProcess) {
  world.Stop();
  RuntimeOptions options = Options();
  options.max_lifetime = absl::Seconds(100);
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  const Pid puppet = world.NewPuppet();
  world.Elapse(60 * kOneSecond);
  world.Tell(puppet, "again", "notes new");
  world.Restart(/*keep_cache=*/false, options);
  world.Elapse(30 * kOneSecond);
  EXPECT_EQ(world.NotesOf(puppet), "new");
  const auto outcome = world.Await(puppet);
  world.Elapse(20 * kOneSecond);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kLimit);
}

// Sends the process all messages, each under an id.
void SendAll(DurableWorld& world, const Pid& pid, uint64_t count,
             uint64_t seed) {
  for (uint64_t i = 0; i < count; ++i) {
    static_cast<void>(world.SendOnce("add" + std::to_string(i), pid, "add",
                                     std::to_string(uint64_t{1} << i)));
    if (i % 5 == seed % 5) world.Settle();
    if (i % 3 == 0) world.Turn();
  }
  world.Settle();
}

// The program ends at calls of the disk, and again in the recovery. Each
// message acts once, in either life, no matter how much the disk has kept.
TEST_F(DurableContinue, MessagesActOnceWhereverTheProgramEnds) {
  constexpr uint64_t kMessages = 16;
  for (const char* type : {"sum", "tab"}) {
    bool has_crashed = true;
    for (uint64_t at = 0; has_crashed; at += 3) {
      SCOPED_TRACE(std::string(type) + ", call " + std::to_string(at));
      DurableWorld other(at + 1);
      other.more_types = world.more_types;
      ASSERT_TRUE(other.Start(Options()).ok());
      const auto told = other.SubmitOnce("submit", "0", "", type);
      other.Settle();
      ASSERT_TRUE(told->answer.has_value() && told->answer->ok());
      const Pid pid = **told->answer;
      other.disk.CrashAt(other.disk.calls() + at);
      SendAll(other, pid, kMessages, at);
      has_crashed = other.disk.has_crashed();
      for (int round = 0; round < 3; ++round) {
        other.Reboot(/*keep_cache=*/round % 2 == 1, at % 5);
        // Again in the recovery.
        if (round < 2) other.disk.CrashAt(at % 7 + 4);
        if (other.Start(Options()).ok()) SendAll(other, pid, kMessages, at);
      }
      EXPECT_EQ(other.BalanceOf(pid),
                std::to_string((uint64_t{1} << kMessages) - 1));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace actord::runtime
