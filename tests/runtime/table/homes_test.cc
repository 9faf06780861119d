#include "runtime/table/homes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/table/process_table.h"

namespace actord::runtime {
namespace {

constexpr uint32_t kEpoch = 7;

TEST(Homes, DrawsPidsThatNobodyHasHad) {
  Homes homes(kEpoch);
  EXPECT_EQ(homes.Draw(3), HomePid(3, kEpoch, 0, 1));
  EXPECT_EQ(homes.Draw(3), HomePid(3, kEpoch, 1, 1));
  EXPECT_EQ(homes.Draw(255), HomePid(255, kEpoch, 0, 1));
  homes.Leave(HomePid(3, kEpoch, 0, 1));
  EXPECT_EQ(homes.Draw(3), HomePid(3, kEpoch, 0, 3));
}

TEST(Homes, LeavesSlotsOfEarlierOpeningsAlone) {
  Homes homes(kEpoch);
  const Pid old = HomePid(3, kEpoch - 1, 1, 9);
  EXPECT_TRUE(homes.Keep(old));
  EXPECT_EQ(homes.Draw(3), HomePid(3, kEpoch, 0, 1));
  EXPECT_EQ(homes.Draw(3), HomePid(3, kEpoch, 2, 1));
  homes.Leave(old);
  EXPECT_EQ(homes.Draw(3), HomePid(3, kEpoch, 1, 1))
      << "the epoch makes it another PID";
}

TEST(Homes, KeepsOnlyWhatAnEarlierOpeningHasDrawn) {
  Homes homes(kEpoch);
  EXPECT_FALSE(homes.Keep(HomePid(3, kEpoch, 0, 1)));
  EXPECT_FALSE(homes.Keep(HomePid(3, 0, 0, 1)));
  EXPECT_FALSE(homes.Keep(HomePid(3, 1, 0, 2)));
  EXPECT_FALSE(homes.Keep(HomePid(kHomes, 1, 0, 1)));
  EXPECT_FALSE(homes.Keep(HomePid(3, 1, Homes::kMaxSlots, 1)));
  EXPECT_FALSE(homes.Keep(Pid{1, 1, 0, 1}));
}

TEST(Homes, FindsAProcessThatHasEntered) {
  Homes homes(kEpoch);
  const Pid pid = *homes.Draw(3);
  EXPECT_FALSE(homes.Find(pid));
  homes.Enter(pid, {.slot = 40, .generation = 5});
  EXPECT_EQ(homes.Find(pid), (ProcessSlot{40, 5}));
  EXPECT_EQ(homes.PidOf({40, 5}), pid);
  EXPECT_FALSE(homes.PidOf({40, 7}));
  EXPECT_FALSE(homes.PidOf({41, 5}));
  for (const Pid& other :
       {HomePid(3, kEpoch, 0, 3), HomePid(3, kEpoch - 1, 0, 1),
        HomePid(4, kEpoch, 0, 1), HomePid(kHomes, kEpoch, 0, 1),
        HomePid(3, kEpoch, Homes::kMaxSlots, 1), Pid{3, kEpoch, 0, 1}, Pid{}}) {
    EXPECT_FALSE(homes.Find(other)) << FormatPid(other);
  }
}

TEST(Homes, ProcessThatHasLeftHasEnded) {
  Homes homes(kEpoch);
  const Pid pid = *homes.Draw(3);
  homes.Enter(pid, {.slot = 40, .generation = 5});
  EXPECT_FALSE(homes.HasEnded(pid));
  homes.Leave(pid);
  EXPECT_FALSE(homes.Find(pid));
  EXPECT_TRUE(homes.HasEnded(pid));
  const Pid next = *homes.Draw(3);
  homes.Enter(next, {.slot = 40, .generation = 7});
  EXPECT_TRUE(homes.HasEnded(pid));
  EXPECT_FALSE(homes.HasEnded(next));
  EXPECT_EQ(homes.PidOf({40, 7}), next);
  EXPECT_FALSE(homes.PidOf({40, 5}));
  EXPECT_FALSE(homes.HasEnded(HomePid(3, kEpoch + 1, 0, 1)));
  EXPECT_FALSE(homes.HasEnded(Pid{3, kEpoch, 0, 1}));
}

TEST(Homes, DormantProcessKeepsItsPid) {
  Homes homes(kEpoch);
  const Pid pid = *homes.Draw(3);
  homes.Enter(pid, {.slot = 40, .generation = 5});
  const uint64_t sleeps = homes.SleepsOf(pid);
  homes.Sleep(pid, 7);
  ASSERT_TRUE(homes.Find(pid));
  EXPECT_TRUE(homes.Find(pid)->is_dormant());
  EXPECT_FALSE(homes.HasEnded(pid));
  EXPECT_EQ(homes.SleepsOf(pid), sleeps + 1);
  EXPECT_EQ(homes.dormant(), 1u);
  EXPECT_EQ(homes.NoteOf(pid), 7u);
  EXPECT_EQ(homes.PidIn(3, 0), pid);
  EXPECT_EQ(homes.SlotsInUse(3), 1u);
  homes.NameResident(pid, {.slot = 41, .generation = 9});
  homes.Wake(pid, {.slot = 41, .generation = 9});
  EXPECT_EQ(homes.Find(pid), (ProcessSlot{41, 9}));
  EXPECT_EQ(homes.PidOf({41, 9}), pid);
  EXPECT_EQ(homes.dormant(), 0u);
  homes.Leave(pid);
  EXPECT_TRUE(homes.HasEnded(pid));
  EXPECT_FALSE(homes.PidIn(3, 0));
}

TEST(Homes, DormantProcessOfAnEarlierOpening) {
  Homes homes(kEpoch);
  const Pid pid = HomePid(3, kEpoch - 1, 5, 9);
  ASSERT_TRUE(homes.Keep(pid));
  homes.EnterDormant(pid);
  ASSERT_TRUE(homes.Find(pid));
  EXPECT_TRUE(homes.Find(pid)->is_dormant());
  EXPECT_EQ(homes.PidIn(3, 5), pid);
  EXPECT_EQ(homes.SlotsInUse(3), 6u);
  EXPECT_FALSE(homes.PidIn(3, 4));
}

TEST(Homes, ALookUpNeverFindsAnotherProcess) {
  // Processes of one home come and go in a few slots of the process table. The
  // generation of a slot tells which process has it: it is 1 + 2 * `who`.
  Homes homes(kEpoch);
  constexpr uint32_t kTurns = 20'000;
  std::atomic<uint64_t> current{0};  // slot and generation of a drawn PID
  std::atomic<uint32_t> who{0};
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint32_t i = 0; i < kTurns; ++i) {
      const Pid pid = *homes.Draw(0);
      const ProcessSlot resident{i % 3, 1 + 2 * i};
      homes.Enter(pid, resident);
      who.store(i);
      current.store(uint64_t{pid.slot} << 32 | pid.generation);
      homes.Leave(pid);
    }
    done.store(true);
  });
  uint64_t wrong = 0;
  while (!done.load()) {
    const uint64_t name = current.load();
    if (name == 0) continue;
    const Pid pid = HomePid(0, kEpoch, static_cast<uint32_t>(name >> 32),
                            static_cast<uint32_t>(name));
    if (const auto resident = homes.Find(pid)) {
      // Slot 0 is drawn again and again: generation 1 + 2 * i is process i.
      wrong += resident->generation != pid.generation;
    }
    const uint32_t last = who.load();
    if (const auto of = homes.PidOf({last % 3, 1 + 2 * last})) {
      wrong += of->generation != 1 + 2 * last;
    }
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

class DurableTable : public ::testing::Test {
 protected:
  DurableTable() { table_.SetHomes(homes_); }

  Process& Reserve() {
    auto no_room = ProcessTable::NoRoom::kInTable;
    return *table_.Reserve(cache_, nullptr, 0, 0, Owner::kNobody, Pid{}, 0,
                           no_room);
  }
  uint32_t GenerationOf(const Process& process) {
    return process.generation.load();
  }

  Homes homes_{kEpoch};
  ProcessTable table_{1, 0x5f3a90c2, /*limit=*/100, /*caches=*/1};
  ProcessTable::Cache cache_;
};

TEST_F(DurableTable, FindsADurableProcessByItsPidAlone) {
  Process& process = Reserve();
  const Pid volatile_pid = table_.PidOf(process, GenerationOf(process));
  const Pid pid = *homes_.Draw(9);
  table_.Enter(process, pid);
  EXPECT_TRUE(process.is_durable());
  EXPECT_EQ(table_.PidOf(process, GenerationOf(process)), pid);
  const FoundProcess found = table_.Find(pid);
  EXPECT_EQ(found.process, &process);
  EXPECT_EQ(found.generation, GenerationOf(process));
  EXPECT_TRUE(table_.IsStill(pid));
  EXPECT_EQ(table_.OwnerOf(pid), Owner::kNobody);
  EXPECT_EQ(&table_.At(volatile_pid.slot), &process);
  EXPECT_EQ(table_.Find(volatile_pid), nullptr) << "it has one PID";
}

TEST_F(DurableTable, AnEndedProcessIsNotFoundAndItsSlotIsAnothersOne) {
  Process& process = Reserve();
  const Pid pid = *homes_.Draw(9);
  table_.Enter(process, pid);
  const uint32_t generation = GenerationOf(process);
  process.generation.fetch_add(1);
  EXPECT_EQ(table_.Find(pid), nullptr);
  EXPECT_FALSE(table_.IsStill(pid));
  EXPECT_TRUE(table_.HasEnded(pid, Owner::kAny) ||
              homes_.Find(pid).has_value());
  table_.Release(cache_, process);
  EXPECT_TRUE(table_.HasEnded(pid, Owner::kAny));
  EXPECT_EQ(table_.WhyNotFound(pid, Owner::kAny).code(),
            absl::StatusCode::kFailedPrecondition);
  Process& next = Reserve();
  EXPECT_EQ(&next, &process);
  EXPECT_FALSE(next.is_durable());
  EXPECT_EQ(table_.PidOf(next, GenerationOf(next)).node, 1u);
  EXPECT_EQ(table_.Find(pid), nullptr);
  EXPECT_NE(table_.PidOf(next, generation), pid);
}

TEST_F(DurableTable, AProcessThatNeverBeganLeavesItsHome) {
  Process& process = Reserve();
  const Pid pid = *homes_.Draw(9);
  table_.Enter(process, pid);
  table_.Unreserve(cache_, process);
  EXPECT_EQ(table_.Find(pid), nullptr);
  EXPECT_TRUE(table_.HasEnded(pid, Owner::kAny));
  EXPECT_EQ(homes_.Draw(9), HomePid(9, kEpoch, pid.slot, pid.generation + 2));
  EXPECT_EQ(homes_.Draw(9), HomePid(9, kEpoch, pid.slot + 1, 1))
      << "each PID is drawn once";
}

TEST_F(DurableTable, WithoutHomesADurablePidIsUnknown) {
  ProcessTable table(1, 0x5f3a90c2, 100, 1);
  const Pid pid = HomePid(9, kEpoch, 0, 1);
  EXPECT_EQ(table.Find(pid), nullptr);
  EXPECT_FALSE(table.IsStill(pid));
  EXPECT_EQ(table.WhyNotFound(pid, Owner::kAny).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace actord::runtime
