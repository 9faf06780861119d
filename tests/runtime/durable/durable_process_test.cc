// What a durable process promises, one promise a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

class DurableProcess : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(world_.Start(), absl::OkStatus()); }
  void CrashAndStart() {
    world_.Crash(/*keep_cache=*/false);
    ASSERT_EQ(world_.Start(), absl::OkStatus());
  }
  void StopAndStart() {
    world_.Stop();
    ASSERT_EQ(world_.Start(), absl::OkStatus());
  }

  DurableWorld world_;
};

TEST_F(DurableProcess, SubmitterIsToldWhenTheProcessIsDurable) {
  struct Deaf final : LifecycleListener {
    void Wake() override {}
  };
  LifecycleLog& log = world_.runtime().lifecycle_log;
  const auto watch = log.Open(std::make_shared<Deaf>());
  ASSERT_TRUE(watch.ok());
  const uint64_t begin = log.end();
  const auto told = world_.Submit("5");
  world_.Turn();
  EXPECT_FALSE(told->has_value()) << "nothing was synced";
  EXPECT_EQ(log.end(), begin) << "a watch would see a process that can vanish";
  world_.Settle();
  ASSERT_TRUE(told->has_value());
  ASSERT_TRUE((*told)->ok());
  EXPECT_TRUE(IsHomePid(***told));
  const auto reading = log.Read(*watch, begin, {}, {});
  ASSERT_EQ(reading.events.size(), 1u);
  EXPECT_EQ(reading.events[0].kind, LifecycleEvent::Kind::kStarted);
  EXPECT_EQ(reading.events[0].pid, ***told);
  log.Close(*watch);
}

TEST_F(DurableProcess, StateOutlivesACrash) {
  const Pid pid = world_.NewAccount(5);
  EXPECT_NE(world_.Send(pid, "add", "7").position, 0u);
  world_.Settle();
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "12");
  EXPECT_NE(world_.Send(pid, "add", "1").position, 0u);
  world_.Settle();
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "13");
}

TEST_F(DurableProcess, StateOutlivesACleanStop) {
  const Pid pid = world_.NewAccount(5);
  world_.Send(pid, "add", "7");
  StopAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "12");
}

TEST_F(DurableProcess, MessageThatNoStepHasSeenIsThereAfterACrash) {
  const Pid pid = world_.NewAccount(5);
  const Sent sent = world_.Send(pid, "add", "7");
  ASSERT_TRUE(sent.status.ok());
  while (world_.store->Work()) {
  }
  EXPECT_GT(world_.store->journal().DurableLsn(), sent.position);
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "12");
}

TEST_F(DurableProcess, UnsyncedStepGivesNoAnswerAndIsLost) {
  const Pid pid = world_.NewAccount(5);
  world_.Send(pid, "add", "7");
  const auto answer = world_.Ask(pid);
  world_.Turn();
  EXPECT_FALSE(answer->has_value()) << "12 could be taken back";
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

TEST_F(DurableProcess, MessagesBetweenDurableProcessesWaitForNoSync) {
  const Pid a = world_.NewAccount(5);
  const Pid b = world_.NewAccount(5);
  world_.Send(a, "pay", FormatPid(b) + " 3");
  world_.Turn();
  const Process& receiver = *world_.runtime().processes.Find(b);
  EXPECT_EQ(receiver.steps.load(), 2u) << "one after Init, one for the message";
  world_.Settle();
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(a), "2");
  EXPECT_EQ(world_.BalanceOf(b), "8");
}

TEST_F(DurableProcess, MessageToAVolatileProcessWaits) {
  const Pid a = world_.NewAccount(5);
  int seen = 0;
  const Pid b = world_.core->Submit([&seen](actord::Events events, auto&) {
    for (const actord::Event event : events) seen += event.is_message();
  });
  world_.Send(a, "pay", FormatPid(b) + " 3");
  world_.Turn();
  EXPECT_EQ(seen, 0);
  world_.Settle();
  EXPECT_EQ(seen, 1);
}

TEST_F(DurableProcess, EndIsSeenWhenItIsDurable) {
  const Pid pid = world_.NewAccount(5);
  const auto outcome = world_.Await(pid);
  world_.Send(pid, "end", "");
  world_.Turn();
  EXPECT_FALSE(outcome->has_value());
  EXPECT_TRUE(world_.runtime().processes.Find(pid));
  world_.Settle();
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->result.bytes, "5");
  EXPECT_FALSE(world_.runtime().processes.Find(pid));
  EXPECT_EQ(ReasonOf(world_.Send(pid, "add", "1").status),
            reason::kProcessEnded);
  CrashAndStart();
  EXPECT_EQ(ReasonOf(world_.Send(pid, "add", "1").status),
            reason::kProcessEnded);
  const auto again = world_.Await(pid);
  ASSERT_TRUE(again->has_value() && (*again)->ok());
  EXPECT_EQ((**again)->result.bytes, "5");
}

TEST_F(DurableProcess, ProcessThatWaitsForItsEndTakesNoStep) {
  const Pid pid = world_.NewAccount(5);
  world_.Send(pid, "end", "");
  world_.Turn();
  world_.Send(pid, "add", "1");
  const auto answer = world_.Ask(pid);
  world_.Turn();
  EXPECT_EQ(world_.runtime().processes.Find(pid)->steps.load(), 2u);
  world_.Settle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_THAT(**answer, HasSubstr("ended without a reply"));
}

TEST_F(DurableProcess, NameIsHeldOverARestart) {
  const Pid pid = world_.NewAccount(5, "alice");
  CrashAndStart();
  EXPECT_EQ(*world_.runtime().names.Find(Owner::kNobody, "alice"), pid);
  const auto told = world_.Submit("1", "alice");
  world_.Settle();
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(ReasonOf((*told)->status()), reason::kNameTaken);
  EXPECT_EQ(HolderOf((*told)->status()), FormatPid(pid));
  world_.Send(pid, "end", "");
  world_.Settle();
  EXPECT_NE(world_.NewAccount(6, "alice"), pid);
  CrashAndStart();
  EXPECT_TRUE(world_.runtime().names.Find(Owner::kNobody, "alice").ok());
}

TEST_F(DurableProcess, RefusalThatNamesAHolderWaitsForTheHolder) {
  const auto first = world_.Submit("5", "alice");
  const auto second = world_.Submit("5", "alice");
  world_.Turn();
  EXPECT_FALSE(second->has_value());
  world_.Settle();
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ(ReasonOf((*second)->status()), reason::kNameTaken);
}

TEST_F(DurableProcess, InitThatRefusesIsToldWhenItIsDurable) {
  const auto told = world_.Submit("refuse", "alice");
  world_.Turn();
  EXPECT_FALSE(told->has_value());
  world_.Settle();
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(ReasonOf((*told)->status()), reason::kInitRefused);
  CrashAndStart();
  EXPECT_EQ(world_.runtime().LiveProcesses(), 0u);
  EXPECT_FALSE(world_.runtime().names.Find(Owner::kNobody, "alice").ok());
}

TEST_F(DurableProcess, InitRunsAgainIfItsImageIsNotDurable) {
  const auto told = world_.Submit("5", "alice");
  while (world_.store->Work()) {
  }
  CrashAndStart();
  world_.Settle();
  const auto pid = world_.runtime().names.Find(Owner::kNobody, "alice");
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(world_.BalanceOf(*pid), "5");
}

TEST_F(DurableProcess, CancelOutlivesACrash) {
  const Pid pid = world_.NewAccount(5);
  const Sent sent =
      world_.runtime().Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "enough");
  ASSERT_TRUE(sent.status.ok());
  while (world_.store->Work()) {
  }
  EXPECT_GT(world_.store->journal().DurableLsn(), sent.position);
  CrashAndStart();
  world_.Settle();
  const auto outcome = world_.Await(pid);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kCancelled);
  EXPECT_EQ((**outcome)->message, "enough");
}

TEST_F(DurableProcess, TerminateEndsIt) {
  const Pid pid = world_.NewAccount(5);
  ASSERT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, kEventTerminate, "now")
                  .status.ok());
  world_.Settle();
  const auto outcome = world_.Await(pid);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kTerminated);
}

TEST_F(DurableProcess, StepThatThrowsEndsTheProcessForEver) {
  const Pid pid = world_.NewAccount(5);
  world_.Send(pid, "throw", "");
  world_.Settle();
  const auto outcome = world_.Await(pid);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kThrew);
  CrashAndStart();
  EXPECT_EQ(world_.runtime().LiveProcesses(), 0u);
}

TEST_F(DurableProcess, FullMailboxMakesADeadLetterThatLasts) {
  world_.Stop();
  RuntimeOptions options;
  options.max_mailbox_messages = 1;
  ASSERT_EQ(world_.Start(options), absl::OkStatus());
  const Pid a = world_.NewAccount(50);
  const Pid b = world_.NewAccount(5);
  world_.runtime().processes.Find(b)->activity.fetch_add(
      Activity::kBlocked);  // it takes no messages
  world_.Send(b, "add", "1");
  world_.Send(a, "pay", FormatPid(b) + " 3");
  world_.Turn();
  EXPECT_EQ(world_.runtime().Stats().dead_letters, 0u);
  world_.Settle();
  EXPECT_EQ(world_.runtime().Stats().dead_letters, 1u);
  EXPECT_EQ(ReasonOf(world_.Send(b, "add", "1").status), reason::kMailboxFull);
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(a), "47");
  EXPECT_EQ(world_.BalanceOf(b), "6");
}

TEST_F(DurableProcess, WishesAreKeptOrRefused) {
  const auto of = [&](bool wish) {
    const auto told = world_.Submit("5", "", wish);
    world_.Settle();
    return **told;
  };
  EXPECT_TRUE(IsHomePid(*of(true)));
  EXPECT_FALSE(IsHomePid(*of(false)));
  SubmitRequest request{"script", "", {}, {}};
  request.durable = true;
  std::string why;
  world_.runtime().admission.Submit(
      request, Pid{}, true,
      [&](absl::StatusOr<Pid> pid) { why = ReasonOf(pid.status()); });
  EXPECT_EQ(why, reason::kNotDurableType);
}

TEST(NoStore, RefusesADurableProcess) {
  SteppedCore core(1);
  SubmitRequest request{"script", "", {}, {}};
  request.durable = true;
  std::string why;
  core.core->admission.Submit(
      request, Pid{}, true,
      [&](absl::StatusOr<Pid> pid) { why = ReasonOf(pid.status()); });
  EXPECT_EQ(why, reason::kDurabilityOff);
}

TEST_F(DurableProcess, MessagesKeepTheirOrderOverACrash) {
  const Pid pid = world_.NewAccount(5);
  for (const auto& [topic, text] :
       {std::pair{"set", "1"}, {"add", "2"}, {"set", "3"}, {"add", "4"}}) {
    ASSERT_TRUE(world_.Send(pid, topic, text).status.ok());
  }
  while (world_.store->Work()) {
  }
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "7");
}

TEST_F(DurableProcess, FlatStateOutlivesACrash) {
  const auto told = world_.Submit("", "", true, "tally");
  world_.Settle();
  ASSERT_TRUE(told->has_value() && (*told)->ok());
  const Pid pid = ***told;
  for (int i = 0; i < 3; ++i) world_.Send(pid, "m", "");
  world_.Settle();
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "3");
}

TEST_F(DurableProcess, ProcessThatCannotBeRestoredKeepsImageAndMailbox) {
  const Pid pid = world_.NewAccount(5);
  Account::refuses_restore = true;
  world_.Stop();
  std::string log;
  RuntimeOptions options;
  options.log = [&log](LogLevel, std::string_view line) { log += line; };
  ASSERT_EQ(world_.Start(options), absl::OkStatus());
  EXPECT_TRUE(world_.Send(pid, "add", "2").status.ok());
  EXPECT_THAT(world_.BalanceOf(pid),
              HasSubstr("in quarantine: Restore refused: not today"));
  EXPECT_THAT(log, HasSubstr("in quarantine: Restore refused: not today"));
  Account::refuses_restore = false;
  StopAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "7");
}

TEST_F(DurableProcess, ProcessInQuarantineCanBeTerminated) {
  const Pid pid = world_.NewAccount(5);
  Account::refuses_restore = true;
  StopAndStart();
  EXPECT_TRUE(world_.Send(pid, "add", "2").status.ok());
  world_.Settle();
  ASSERT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, kEventTerminate, "now")
                  .status.ok());
  world_.Settle();
  Account::refuses_restore = false;
  const auto outcome = world_.Await(pid);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kTerminated);
}

TEST_F(DurableProcess, StopAnswersWaitingCallers) {
  const auto told = world_.Submit("5");
  const auto refused = world_.Submit("refuse");
  world_.runtime().orders.freeze = true;
  world_.Stop();
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(ReasonOf((*told)->status()), reason::kDraining);
  EXPECT_TRUE(refused->has_value());
}

// The memory of large contents is not that of a pool, so LeakSanitizer sees it.
TEST_F(DurableProcess, ContentsThatWaitForTheDiskAreFreedAtACrash) {
  const std::string large(8192, 'x');
  world_.core->AddCommand("bill", ACTORD_HANDLER_POOLED, [](auto& call) {
    call.Reply(ACTORD_OK, "billed");
    return ACTORD_HANDLED;
  });
  const Pid puppet = world_.NewPuppet();
  const Pid other = world_.NewPuppet("volatile", /*durable=*/false);
  world_.Tell(puppet, "note", large);
  const auto asked = world_.Ask(puppet);
  const auto asked_once = world_.CallOnce("call-1", puppet, "get");
  world_.Send(puppet, "send", FormatPid(other) + " note " + large);
  world_.Send(puppet, "call", FormatPid(other) + " note " + large);
  world_.Send(puppet, "yield", "bill " + large);
  world_.Turn();
  world_.Crash(/*keep_cache=*/false);
  EXPECT_FALSE(asked->has_value() && (*asked)->find(large) == 0);
}

TEST_F(DurableProcess, FailedDiskAnswersNobody) {
  const Pid pid = world_.NewAccount(5);
  world_.disk.FailNext(SimulatedDisk::Call::kSync, "", EIO);
  const Sent sent = world_.Send(pid, "add", "7");
  ASSERT_TRUE(sent.status.ok());
  bool told = false;
  world_.runtime().WhenDurable(sent.position, [&told] { told = true; });
  const auto answer = world_.Ask(pid);
  world_.Settle();
  EXPECT_FALSE(world_.failed.ok());
  EXPECT_FALSE(told);
  EXPECT_FALSE(answer->has_value());
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

}  // namespace
}  // namespace actord::runtime
