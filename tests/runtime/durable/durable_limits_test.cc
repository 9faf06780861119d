// Limits of records, of durable processes and of what waits for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

// Above the largest record of the fixture, and below the largest payload.
std::string TooLarge() { return std::string(300 << 10, '0'); }

TEST(DurableLimits, PayloadThatDoesNotFitIntoARecordIsRefused) {
  DurableWorld world;
  ASSERT_EQ(world.Start(), absl::OkStatus());
  const Pid account = world.NewAccount(1);
  const absl::Status sent = world.Send(account, "add", TooLarge()).status;
  EXPECT_EQ(ReasonOf(sent), reason::kPayloadTooLarge);
  EXPECT_EQ(FieldOf(sent), "payload");
  EXPECT_THAT(std::string(sent.message()), HasSubstr("store.max_record_bytes"));
  for (const char* const name : {"", "named"}) {
    const auto told = world.Submit(TooLarge(), name);
    world.Settle();
    ASSERT_TRUE(told->has_value());
    EXPECT_EQ(ReasonOf((*told)->status()), reason::kPayloadTooLarge) << name;
    EXPECT_EQ(FieldOf((*told)->status()), "input");
  }
  EXPECT_EQ(world.BalanceOf(account), "1");
}

TEST(DurableLimits, StepThatDoesNotFitIntoARecordFails) {
  DurableWorld world;
  ASSERT_EQ(world.Start(), absl::OkStatus());
  const Pid puppet = world.NewPuppet();
  const auto outcome = world.Await(puppet);
  // The image has both notes.
  world.Tell(puppet, "note", std::string(200 << 10, 'x'));
  world.Tell(puppet, "note", std::string(200 << 10, 'x'));
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->value().kind, EndKind::kFailed);
  EXPECT_EQ((*outcome)->value().code, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT((*outcome)->value().message, HasSubstr("above the limit"));
  EXPECT_EQ(world.failed, absl::OkStatus());
}

TEST(DurableLimits, StepThatAsksForTooManyNamesFails) {
  DurableWorld world;
  ASSERT_EQ(world.Start(), absl::OkStatus());
  const Pid puppet = world.NewPuppet();
  const auto outcome = world.Await(puppet);
  world.Tell(puppet, "find", "1000");
  EXPECT_FALSE(outcome->has_value());
  world.Tell(puppet, "find", "66000");
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->value().kind, EndKind::kThrew);
  EXPECT_EQ((*outcome)->value().code, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT((*outcome)->value().message, HasSubstr("questions"));
}

TEST(DurableLimits, RestoredProcessesCount) {
  DurableWorld world;
  RuntimeOptions options;
  options.durable.max_processes = 2;
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  const Pid first = world.NewPuppet();
  world.Tell(first, "spawn", "account");
  world.Tell(first, "spawn", "account");
  EXPECT_THAT(world.NotesOf(first), HasSubstr("s:")) << "and one without a PID";
  const auto refused = [&] {
    const auto told = world.Submit("5");
    world.Settle();
    return told->has_value() ? ReasonOf((*told)->status()) : "not told";
  };
  EXPECT_EQ(refused(), reason::kProcessLimit);
  world.Crash(/*keep_cache=*/false);
  options.durable.max_processes = 1;
  ASSERT_EQ(world.Start(options), absl::OkStatus()) << "all are restored";
  EXPECT_EQ(world.runtime().durable->live(), 2u);
  EXPECT_EQ(refused(), reason::kProcessLimit);
  world.Tell(first, "done");
  EXPECT_EQ(refused(), reason::kProcessLimit);
}

TEST(DurableLimits, LifetimeGoesOnOverARestart) {
  DurableWorld world;
  RuntimeOptions options;
  options.max_lifetime = absl::Seconds(10);
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  const Pid puppet = world.NewPuppet();
  world.Elapse(6 * kSecond);
  world.Restart(/*keep_cache=*/false, options);
  world.Elapse(3 * kSecond);
  EXPECT_EQ(world.NotesOf(puppet), "");
  world.Elapse(2 * kSecond);
  EXPECT_FALSE(world.runtime().processes.Find(puppet));
}

TEST(DurableLimits, DeadlineOfACancelGoesOnOverARestart) {
  for (const bool is_seen : {false, true}) {
    SCOPED_TRACE(is_seen);
    DurableWorld world;
    ASSERT_EQ(world.Start(), absl::OkStatus());
    const Pid puppet = world.NewPuppet();
    ASSERT_EQ(world.runtime()
                  .Control(Owner::kAny, puppet, ACTORD_EVENT_CANCEL, "enough",
                           absl::Seconds(10))
                  .status,
              absl::OkStatus());
    if (is_seen) {
      world.Settle();
    } else {
      while (world.store->Work()) {
      }
    }
    world.Crash(/*keep_cache=*/false);
    world.Pass(4'000'000'000);
    ASSERT_EQ(world.Start(), absl::OkStatus());
    world.Settle();
    EXPECT_THAT(world.NotesOf(puppet), HasSubstr("cancelled"));
    const auto outcome = world.Await(puppet);
    world.Elapse(5'000'000'000);
    EXPECT_FALSE(outcome->has_value()) << "9 s have passed";
    world.Elapse(2'000'000'000);
    ASSERT_TRUE(outcome->has_value());
    EXPECT_EQ((*outcome)->value().kind, EndKind::kTerminated);
    EXPECT_THAT((*outcome)->value().message,
                HasSubstr("did not end within 10000 ms of its cancel"));
  }
}

// The owner of the messages has a quota that they fill.
TEST(DurableLimits, RestoredMailboxCountsForItsOwner) {
  DurableWorld world;
  RuntimeOptions options;
  options.counts_owners = true;
  options.counts_mailboxes = true;
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  SubmitRequest request{"account", "", {"1", ""}, {}};
  request.owner = kAlice;
  request.durable = true;
  Pid pid;
  world.runtime().admission.Submit(
      request, Pid{}, /*keep_result=*/true,
      [&pid](absl::StatusOr<Pid> begun) { pid = begun.value(); });
  world.Settle();
  for (int i = 0; i < 5; ++i) world.Send(pid, "add", "1");
  while (world.store->Work()) {
  }
  const auto used = [&] {
    return world.runtime().processes.mailbox_bytes_of().UsedBy(kAlice);
  };
  const uint64_t before = used();
  EXPECT_GT(before, 0u);
  world.Crash(/*keep_cache=*/false);
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  EXPECT_EQ(used(), before);
  EXPECT_EQ(world.BalanceOf(pid), "6");
  EXPECT_EQ(used(), 0u) << "they are given back as they are taken";
}

}  // namespace
}  // namespace actord::runtime
