// Volatile children that process.spawn of a durable process ties to it, over
// restarts.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

constexpr const char* kSpawn =
    R"(process.spawn {"type":"volatile","link":true,"monitor":true})";
constexpr const char* kSpawnMonitored =
    R"(process.spawn {"type":"volatile","monitor":true})";
constexpr const char* kSpawnLinked =
    R"(process.spawn {"type":"volatile","link":true})";

// The PID with which the command number `tag` has completed.
Pid ChildOf(const std::string& notes, int tag = 1) {
  const std::string before = "c" + std::to_string(tag) + "=";
  const size_t at = notes.find(before);
  if (at == std::string::npos) return Pid{};
  const size_t begin = at + before.size();
  return ParsePid(notes.substr(begin, notes.find(' ', begin) - begin))
      .value_or(Pid{});
}

size_t CountOf(const std::string& notes, std::string_view note) {
  size_t count = 0;
  for (size_t at = notes.find(note); at != std::string::npos;
       at = notes.find(note, at + 1)) {
    ++count;
  }
  return count;
}

class DurableVolatileChildren : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.Start().ok()); }
  bool Lives(const Pid& pid) {
    return static_cast<bool>(world.runtime().processes.Find(pid));
  }

  DurableWorld world;
};

TEST_F(DurableVolatileChildren, EndOfTheChildIsTold) {
  const Pid parent = world.NewPuppet("trapper");
  world.Tell(parent, "yield", kSpawn);
  const Pid child = ChildOf(world.NotesOf(parent));
  EXPECT_FALSE(IsHomePid(child));
  ASSERT_TRUE(Lives(child));
  world.Tell(child, "fail");
  const std::string notes = "c1=" + FormatPid(child) + " x0:2 x1:2";
  EXPECT_EQ(world.NotesOf(parent), notes);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(parent), notes);
}

TEST_F(DurableVolatileChildren, ChildHasEndedByTheRestart) {
  const Pid both = world.NewPuppet("trapper");
  const Pid monitoring = world.NewPuppet();
  const Pid linked = world.NewPuppet();
  world.Tell(both, "yield", kSpawn);
  world.Tell(monitoring, "yield", kSpawnMonitored);
  world.Tell(linked, "yield", kSpawnLinked);
  const std::string of_both = world.NotesOf(both);
  const std::string of_monitoring = world.NotesOf(monitoring);
  const std::string of_linked = world.NotesOf(linked);
  for (int i = 0; i < 2; ++i) {
    world.Restart(/*keep_cache=*/false);
    EXPECT_EQ(world.NotesOf(both), of_both + " x0:9 x1:9");
    EXPECT_EQ(world.NotesOf(monitoring), of_monitoring + " x1:9");
    EXPECT_EQ(world.NotesOf(linked), of_linked);
  }
  EXPECT_EQ(world.runtime().LiveVolatile(), 0u);
}

TEST_F(DurableVolatileChildren, FailureAlongTheLinkEndsTheParent) {
  const Pid parent = world.NewPuppet();
  world.Tell(parent, "yield", kSpawnLinked);
  world.Tell(ChildOf(world.NotesOf(parent)), "fail");
  EXPECT_FALSE(Lives(parent));
}

TEST_F(DurableVolatileChildren, EndOfTheParentEndsTheChild) {
  const Pid parent = world.NewPuppet();
  world.Tell(parent, "yield", kSpawnLinked);
  const Pid child = ChildOf(world.NotesOf(parent));
  world.Tell(parent, "fail");
  EXPECT_FALSE(Lives(child));
}

TEST_F(DurableVolatileChildren, RefusedChildHasNoTies) {
  const Pid parent = world.NewPuppet("trapper");
  world.Tell(
      parent, "yield",
      R"(process.spawn {"type":"volatile","input":"refuse","link":true})");
  EXPECT_EQ(world.NotesOf(parent), "c1!3");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(parent), "c1!3");
}

TEST_F(DurableVolatileChildren, ChildOfAYieldThatTheProcessGaveUpEnds) {
  const Pid parent = world.NewPuppet("trapper");
  EXPECT_TRUE(world.Send(parent, "yield", kSpawn).status.ok());
  EXPECT_TRUE(world.Send(parent, "cancel", "1").status.ok());
  world.Settle();
  EXPECT_EQ(world.NotesOf(parent), "c1!1");
  EXPECT_EQ(world.runtime().LiveVolatile(), 0u);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(parent), "c1!1");
}

// ---- A crash at each call of the disk

class TiesSweep {
 public:
  TiesSweep() {
    EXPECT_TRUE(world.Start().ok());
    parent = world.NewPuppet("trapper");
  }
  void Run(uint64_t crash_after) {
    world.disk.CrashAt(crash_after == SimulatedDisk::kNever
                           ? SimulatedDisk::kNever
                           : world.disk.calls() + crash_after);
    for (const char* command : {kSpawn, kSpawnMonitored, kSpawnLinked}) {
      if (world.disk.has_crashed()) return;
      if (!world.Send(parent, "yield", command).status.ok()) return;
      world.Turn();
      world.store->Work();
    }
    if (!world.disk.has_crashed()) world.Settle();
  }
  void Restart(bool keep_cache) {
    world.Reboot(keep_cache);
    const absl::Status status = world.Start();
    ASSERT_TRUE(status.ok()) << status;
    world.Settle();
  }
  // Each command has one completion, with a child that lives or whose ends were
  // told, once along each of its ties.
  void Check() {
    const std::string notes = world.NotesOf(parent) + " ";
    size_t living = 0;
    size_t ended_links = 0;
    for (const int tag : {1, 2, 3}) {
      const std::string name = std::to_string(tag);
      const size_t completions = CountOf(notes, "c" + name + "=");
      ASSERT_LE(completions, 1u) << notes;
      if (completions == 0) continue;
      const Pid child = ChildOf(notes, tag);
      const bool lives =
          static_cast<bool>(world.runtime().processes.Find(child));
      if (lives) ++living;
      if (!lives && tag != 2) ++ended_links;
      const bool has_monitor = tag != 3;
      EXPECT_EQ(CountOf(notes, "x" + name + ":9 "),
                !lives && has_monitor ? 1u : 0u)
          << notes;
    }
    EXPECT_EQ(CountOf(notes, "x0:9 "), ended_links) << notes;
    EXPECT_EQ(world.runtime().LiveVolatile(), living) << notes;
  }

  DurableWorld world;
  Pid parent;
};

TEST(DurableVolatileChildrenSweep, EachTieIsToldOnceWhereverTheProgramEnds) {
  uint64_t calls = 0;
  {
    TiesSweep whole;
    const uint64_t before = whole.world.disk.calls();
    whole.Run(SimulatedDisk::kNever);
    calls = whole.world.disk.calls() - before;
    whole.Restart(true);
    whole.Check();
  }
  EXPECT_GT(calls, 5u);
  for (uint64_t at = 0; at < calls; ++at) {
    for (const bool keep_cache : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(at) + (keep_cache ? ", kept" : ""));
      TiesSweep sweep;
      sweep.Run(at);
      sweep.Restart(keep_cache);
      sweep.Check();
      sweep.Restart(false);
      sweep.Check();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace actord::runtime
