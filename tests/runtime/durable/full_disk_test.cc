// A disk that is behind, and a full disk: no acknowledged work is lost, no
// worker waits for the disk, and everything continues when there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

constexpr char kSleepForASecond[] = R"(timer.sleep {"duration_ms":1000})";

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(world_.Start(), absl::OkStatus()); }

  DurableProcesses& durable() { return *world_.runtime().durable; }
  size_t parked() { return world_.runtime().parked->count(); }
  Journal& journal() { return world_.store->journal(); }

  // Sends without a sync, until the journal is behind. An account ignores such
  // messages.
  void FallBehind(const Pid& account) {
    const std::string text(8 << 10, 'x');
    Sent sent;
    for (int i = 0; i < 100 && sent.status.ok(); ++i) {
      sent = world_.Send(account, "other", text);
    }
    ASSERT_EQ(ReasonOf(sent.status), reason::kJournalBehind);
    EXPECT_TRUE(absl::IsUnavailable(sent.status));
    EXPECT_TRUE(RetryDelayOf(sent.status).has_value());
  }

  DurableWorld world_;
};

TEST_F(FullDisk, DurableProcessesAreParkedWhileTheJournalIsBehind) {
  const Pid account = world_.NewAccount(1);
  const Pid other = world_.NewAccount(5);
  const Pid free = world_.NewPuppet("volatile", /*durable=*/false);
  ASSERT_EQ(world_.Send(account, "add", "2").status, absl::OkStatus());
  FallBehind(other);
  const auto told = world_.Ask(free);
  const uint64_t tail = journal().Tail();
  world_.Turn();
  EXPECT_EQ(journal().Tail(), tail) << "no durable process has taken a step";
  EXPECT_EQ(parked(), 2u);
  EXPECT_TRUE(told->has_value()) << "a volatile process goes on";
  world_.Settle();
  EXPECT_EQ(parked(), 0u);
  EXPECT_EQ(world_.BalanceOf(account), "3");
  EXPECT_EQ(world_.BalanceOf(other), "5");
}

TEST_F(FullDisk, WorkFromOutsideIsRefusedWhileTheJournalIsBehind) {
  const Pid account = world_.NewAccount(1);
  FallBehind(world_.NewAccount(5));
  EXPECT_EQ(ReasonOf(world_.Send(account, "add", "2").status),
            reason::kJournalBehind);
  const auto told = world_.Submit("5");
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(ReasonOf((*told)->status()), reason::kJournalBehind);
  EXPECT_EQ(ReasonOf(durable().CheckTurns()), reason::kJournalBehind);
  EXPECT_EQ(durable().CheckFull(), absl::OkStatus());
  // What ends something is taken.
  EXPECT_EQ(world_.runtime()
                .Control(Owner::kAny, account, kEventTerminate, "enough")
                .status,
            absl::OkStatus());
  const auto outcome = world_.Await(account);
  world_.Settle();
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->value().kind, EndKind::kTerminated);
}

TEST_F(FullDisk, NothingWaitsForRoomInTheRing) {
  const Pid puppet = world_.NewPuppet();
  FallBehind(world_.NewAccount(5));
  Sent sent;
  const std::string reason(4 << 10, 'r');
  for (int i = 0; i < 1000 && sent.status.ok(); ++i) {
    sent = world_.runtime().Control(Owner::kAny, puppet, ACTORD_EVENT_CANCEL,
                                    reason);
  }
  EXPECT_EQ(ReasonOf(sent.status), reason::kJournalBehind)
      << "otherwise this thread would wait for ever";
  EXPECT_EQ(journal().Stats().room_waits, 0u);
  world_.Settle();
  EXPECT_THAT(world_.NotesOf(puppet), HasSubstr("cancelled"));
}

TEST_F(FullDisk, StopWhileParkedKeepsWhatWasTaken) {
  const Pid account = world_.NewAccount(1);
  const Pid other = world_.NewAccount(5);
  ASSERT_EQ(world_.Send(account, "add", "2").status, absl::OkStatus());
  FallBehind(other);
  world_.Turn();
  ASSERT_EQ(parked(), 2u);
  world_.Stop();
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(account), "3");
}

// A small record that finds room behind a refused one could undo a process.
TEST_F(FullDisk, StopThatHasRefusedARecordTakesNoSmallerOne) {
  const Pid account = world_.NewAccount(1);
  journal().RefuseWaits();
  const auto append = [&](size_t bytes) {
    records::Input input{.to = account};
    input.messages.push_back({.payload = {std::string(bytes, 'x'), ""}});
    return durable().Append(input).status();
  };
  absl::Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) status = append(50 << 10);
  ASSERT_EQ(ReasonOf(status), reason::kStopped);
  EXPECT_EQ(ReasonOf(append(1)), reason::kStopped);
}

class SmallDisk : public FullDisk {
 protected:
  // Each step of these writes 60 KiB. Time passes, so that few segments are
  // made ahead.
  std::vector<Pid> LargePuppets() {
    std::vector<Pid> puppets(60);
    for (Pid& puppet : puppets) {
      puppet = world_.NewPuppet();
      world_.Tell(puppet, "note", std::string(60 << 10, 'x'));
      world_.Pass(1'000'000'000);
    }
    return puppets;
  }
  // Leaves this much free room on the disk.
  void Leave(uint64_t bytes) {
    world_.disk.set_capacity(SimulatedDisk::kNever);
    const absl::StatusOr<DiskSpace> space = world_.disk.Space("/srv");
    ASSERT_TRUE(space.ok());
    world_.disk.set_capacity(space->total - space->available + bytes);
    (void)world_.store->Work();
  }
};

TEST_F(SmallDisk, BelowTheReserveStepsGoOnAndNewWorkIsRefused) {
  world_.Stop();
  world_.disk_reserve = 4 << 20;
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  const Pid account = world_.NewAccount(1);
  const Pid puppet = world_.NewPuppet();
  world_.Tell(puppet, "yield", kSleepForASecond);
  Leave(3 << 20);
  const absl::Status refused = world_.Send(account, "add", "2").status;
  EXPECT_EQ(ReasonOf(refused), reason::kStoreFull);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  const auto told = world_.Submit("5");
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(ReasonOf((*told)->status()), reason::kStoreFull);
  EXPECT_EQ(world_.runtime().Stats().refused_store_full, 2u);
  EXPECT_EQ(durable().CheckTurns(), absl::OkStatus()) << "steps go on";
  world_.Elapse(2'000'000'000);
  EXPECT_THAT(world_.NotesOf(puppet), HasSubstr("c1="));
  Leave(4 << 20);
  EXPECT_EQ(ReasonOf(durable().CheckRoom()), reason::kStoreFull)
      << "a little more must be free than when it began";
  Leave(5 << 20);
  EXPECT_EQ(world_.Send(account, "add", "2").status, absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(account), "3");
}

TEST_F(SmallDisk, WithoutRoomForASegmentAllIsKeptAndGoesOnWhenThereIsRoom) {
  const std::vector<Pid> puppets = LargePuppets();
  Leave(1000);
  ASSERT_FALSE(journal().HasNoRoom()) << "two segments are made";
  for (const Pid& puppet : puppets) {
    ASSERT_EQ(world_.Send(puppet, "note", "last").status, absl::OkStatus());
  }
  world_.Settle();
  EXPECT_TRUE(journal().HasNoRoom());
  EXPECT_GT(parked(), 0u);
  EXPECT_EQ(ReasonOf(durable().CheckTurns()), reason::kStoreFull);
  EXPECT_EQ(ReasonOf(world_.Send(puppets[0], "note", "more").status),
            reason::kStoreFull);
  EXPECT_EQ(world_.failed, absl::OkStatus());
  const Pid free = world_.NewPuppet("volatile", /*durable=*/false);
  EXPECT_EQ(world_.NotesOf(free), "") << "a volatile process goes on";
  Leave(64 << 20);
  world_.Settle();
  EXPECT_EQ(parked(), 0u);
  for (const Pid& puppet : puppets) {
    EXPECT_THAT(world_.NotesOf(puppet), HasSubstr("m:last"));
  }
  world_.Restart(/*keep_cache=*/false);
  for (const Pid& puppet : puppets) {
    EXPECT_THAT(world_.NotesOf(puppet), HasSubstr("m:last"));
  }
}

TEST_F(SmallDisk, StopWithoutRoomEndsAndKeepsWhatWasAcknowledged) {
  const std::vector<Pid> puppets = LargePuppets();
  Leave(1000);
  int acknowledged = 0;
  for (const Pid& puppet : puppets) {
    const Sent sent = world_.Send(puppet, "note", "last");
    ASSERT_EQ(sent.status, absl::OkStatus());
    world_.runtime().WhenDurable(sent.position, [&] { ++acknowledged; });
  }
  world_.Settle();
  ASSERT_GT(parked(), 0u);
  EXPECT_EQ(acknowledged, 60);
  world_.Stop();
  EXPECT_EQ(world_.failed, absl::OkStatus());
  world_.disk.set_capacity(SimulatedDisk::kNever);
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  world_.Settle();
  for (const Pid& puppet : puppets) {
    EXPECT_THAT(world_.NotesOf(puppet), HasSubstr("m:last"));
  }
}

}  // namespace
}  // namespace actord::runtime
