// Children, monitors and links of durable processes, over restarts.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableTies : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.Start().ok()); }
  // The child that the notes of its parent name last.
  static Pid ChildIn(const std::string& notes) {
    const size_t at = notes.rfind("s:") + 2;
    return ParsePid(notes.substr(at, notes.find(' ', at) - at)).value_or(Pid{});
  }
  bool Lives(const Pid& pid) {
    return static_cast<bool>(world.runtime().processes.Find(pid));
  }

  DurableWorld world;
};

TEST_F(DurableTies, ChildOfAStepIsDurable) {
  const Pid parent = world.NewPuppet();
  world.Tell(parent, "spawn", "puppet");
  const Pid child = ChildIn(world.NotesOf(parent));
  EXPECT_TRUE(IsHomePid(child));
  EXPECT_EQ(HomeOf(child), HomeOf(parent));
  const uint64_t started =
      world.runtime().processes.Find(child)->started_unix_ns.load();
  world.Tell(child, "note", "hello");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(child), "m:hello");
  const FoundProcess found = world.runtime().processes.Find(child);
  EXPECT_EQ(found->parent.Load(), parent);
  EXPECT_EQ(found->started_unix_ns.load(), started);
}

TEST_F(DurableTies, ChildOfASpawnThatSaysVolatileEndsWithTheDaemon) {
  const Pid parent = world.NewPuppet();
  world.Tell(parent, "passing", "puppet");
  const std::string notes = world.NotesOf(parent);
  const Pid child = ChildIn(notes);
  EXPECT_FALSE(IsHomePid(child));
  EXPECT_TRUE(Lives(child));
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(parent), notes);
  EXPECT_FALSE(Lives(child));
  EXPECT_EQ(world.runtime().LiveVolatile(), 0u);
}

TEST_F(DurableTies, ChildThatHasNotBegunBeginsAfterARestart) {
  const Pid parent = world.NewPuppet();
  EXPECT_TRUE(world.Send(parent, "spawn", "puppet").status.ok());
  world.Turns(1);
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  const Pid child = ChildIn(world.NotesOf(parent));
  EXPECT_TRUE(Lives(child));
  EXPECT_EQ(world.NotesOf(child), "");
}

TEST_F(DurableTies, ChildrenOfAStepThatFailsAreNotThere) {
  const Pid account = world.NewAccount(1);
  EXPECT_TRUE(world.Send(account, "spawn", "").status.ok());
  EXPECT_TRUE(world.Send(account, "throw", "").status.ok());
  world.Settle();
  EXPECT_EQ(world.runtime().durable->live(), 0u);
  EXPECT_EQ(world.runtime().LiveProcesses(), 0u);
  // Its place is free again.
  EXPECT_FALSE(world.NewAccount(2).empty());
}

TEST_F(DurableTies, VolatileChildBeginsWhenTheStepIsDurable) {
  const Pid parent = world.NewPuppet();
  EXPECT_TRUE(world.Send(parent, "tied", "volatile").status.ok());
  world.Turn();
  const uint64_t before = world.runtime().LiveVolatile();
  EXPECT_EQ(before, 0u);
  world.Settle();
  EXPECT_EQ(world.runtime().LiveVolatile(), 1u);
  const Pid child = ChildIn(world.NotesOf(parent));
  EXPECT_FALSE(IsHomePid(child));
  world.Tell(child, "done");
  EXPECT_TRUE(world.NotesOf(parent).ends_with(" x1:1"));
}

TEST_F(DurableTies, MonitorLastsOverARestart) {
  const Pid watcher = world.NewPuppet();
  const Pid watched = world.NewPuppet();
  world.Tell(watcher, "monitor", FormatPid(watched));
  world.Restart(/*keep_cache=*/false);
  world.Tell(watched, "done");
  EXPECT_EQ(world.NotesOf(watcher), "x1:1");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(watcher), "x1:1");
}

TEST_F(DurableTies, ExitThatNoStepHasSeenIsToldAfterARestart) {
  const Pid watcher = world.NewPuppet();
  const Pid watched = world.NewPuppet();
  world.Tell(watcher, "monitor", FormatPid(watched));
  EXPECT_TRUE(world.Send(watched, "fail", "").status.ok());
  world.Turn();
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(watcher), "x1:2");
  EXPECT_FALSE(Lives(watched));
}

TEST_F(DurableTies, MonitorOfNobodyIsToldAtOnceAndOnce) {
  const Pid watcher = world.NewPuppet();
  const Pid watched = world.NewPuppet();
  world.Tell(watched, "done");
  world.Tell(watcher, "monitor", FormatPid(watched));
  EXPECT_EQ(world.NotesOf(watcher), "x1:7");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(watcher), "x1:7");
}

TEST_F(DurableTies, VolatileProcessHasEndedByTheRestart) {
  const Pid watcher = world.NewPuppet();
  const Pid other = world.NewPuppet("volatile", /*durable=*/false);
  world.Tell(watcher, "monitor", FormatPid(other));
  world.Tell(watcher, "link", FormatPid(other));
  world.Restart(/*keep_cache=*/false);
  // A link without traps passes RESTARTED on to nobody.
  EXPECT_EQ(world.NotesOf(watcher), "x1:9");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(watcher), "x1:9");
}

TEST_F(DurableTies, TrapperIsToldOfItsVolatileLink) {
  const Pid trapper = world.NewPuppet("trapper");
  const Pid other = world.NewPuppet("volatile", /*durable=*/false);
  world.Tell(trapper, "link", FormatPid(other));
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(trapper), "x0:9");
}

TEST_F(DurableTies, FailureEndsALinkedProcessOverARestart) {
  const Pid a = world.NewPuppet();
  const Pid b = world.NewPuppet();
  world.Tell(a, "link", FormatPid(b));
  world.Restart(/*keep_cache=*/false);
  world.Tell(b, "fail");
  EXPECT_FALSE(Lives(a));
  EXPECT_FALSE(Lives(b));
  world.Restart(/*keep_cache=*/false);
  EXPECT_FALSE(Lives(a));
}

TEST_F(DurableTies, FailureThatALinkedProcessHasNotSeenEndsItAfterARestart) {
  const Pid a = world.NewPuppet();
  const Pid b = world.NewPuppet();
  world.Tell(a, "link", FormatPid(b));
  EXPECT_TRUE(world.Send(b, "fail", "").status.ok());
  world.Turn();
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_FALSE(Lives(a));
}

TEST_F(DurableTies, ResultThatATrapperHasNotSeenIsToldAfterARestart) {
  const Pid trapper = world.NewPuppet("trapper");
  const Pid watched = world.NewPuppet();
  world.Tell(trapper, "link", FormatPid(watched));
  EXPECT_TRUE(world.Send(watched, "done", "").status.ok());
  world.Turn();
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(trapper), "x0:1");
}

TEST_F(DurableTies, LinkThatWasRemovedIsGone) {
  const Pid a = world.NewPuppet();
  const Pid b = world.NewPuppet();
  world.Tell(a, "link", FormatPid(b));
  world.Tell(a, "unlink", FormatPid(b));
  world.Restart(/*keep_cache=*/false);
  world.Tell(b, "fail");
  EXPECT_TRUE(Lives(a));
}

TEST_F(DurableTies, VolatileMonitorIsToldWhenTheEndIsDurable) {
  const Pid watcher = world.NewPuppet("volatile", /*durable=*/false);
  const Pid watched = world.NewPuppet();
  world.Tell(watcher, "monitor", FormatPid(watched));
  EXPECT_TRUE(world.Send(watched, "done", "").status.ok());
  world.Turn();
  EXPECT_TRUE(Lives(watched));
  world.Settle();
  EXPECT_EQ(world.NotesOf(watcher), "x1:1");
}

}  // namespace
}  // namespace actord::runtime
