#include "runtime/table/process_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"
#include "runtime/process/type_limits.h"
#include "runtime/system/processor.h"
#include "tests/support/sanitizers.h"

namespace actord::runtime {
namespace {

class ProcessTableTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kNode = 3;
  static constexpr uint32_t kIncarnation = 77;

  Pid Reserve(Owner owner = Owner::kNobody) {
    ProcessTable::NoRoom why;
    Process* process = processes_.Reserve(cache_, nullptr, 0, kDefaultPriority,
                                          owner, Pid{}, 0, why);
    return processes_.PidOf(*process, process->generation);
  }
  // As the runner does at a process's end.
  void End(const Pid& pid) {
    Process& process = processes_.At(pid.slot);
    process.generation = pid.generation + 1;
    processes_.Release(cache_, process);
  }

  ProcessTable processes_{kNode, kIncarnation, 100, 1};
  ProcessTable::Cache cache_;
};

TEST_F(ProcessTableTest, FindsAProcessUntilItEnds) {
  const Pid pid = Reserve();
  EXPECT_EQ(processes_.Find(pid), &processes_.At(pid.slot));
  EXPECT_FALSE(processes_.HasEnded(pid, Owner::kAny));
  End(pid);
  EXPECT_EQ(processes_.Find(pid), nullptr);
  EXPECT_TRUE(processes_.HasEnded(pid, Owner::kAny));
  EXPECT_EQ(ReasonOf(processes_.WhyNotFound(pid, Owner::kAny)),
            reason::kProcessEnded);
}

TEST_F(ProcessTableTest, EndedPidStaysEndedWhenItsSlotIsUsedAgain) {
  const Pid old_pid = Reserve();
  End(old_pid);
  const Pid new_pid = Reserve();
  ASSERT_EQ(new_pid.slot, old_pid.slot);
  EXPECT_TRUE(processes_.HasEnded(old_pid, Owner::kAny));
  EXPECT_FALSE(processes_.HasEnded(new_pid, Owner::kAny));
}

TEST_F(ProcessTableTest, TellsTheOwnerOfALivingProcessAlone) {
  constexpr Owner kFormerOwner{5};
  const Pid former = Reserve(kFormerOwner);
  EXPECT_EQ(processes_.OwnerOf(former), kFormerOwner);
  End(former);
  EXPECT_EQ(processes_.OwnerOf(former), std::nullopt);
  const Pid next = Reserve();
  ASSERT_EQ(next.slot, former.slot);
  EXPECT_EQ(processes_.OwnerOf(next), Owner::kNobody);
  EXPECT_EQ(processes_.OwnerOf(former), std::nullopt);
}

TEST_F(ProcessTableTest, WalksOverLiveProcessesInPieces) {
  std::vector<Pid> pids;
  for (int i = 0; i < 10; ++i) pids.push_back(Reserve());
  End(pids[3]);
  std::vector<uint32_t> seen;
  const auto walk = [&](uint32_t first, uint32_t max_slots, size_t most) {
    seen.clear();
    return processes_.ForEachLive(
        first, max_slots, [&](const Process& process, uint32_t generation) {
          EXPECT_EQ(process.generation, generation);
          seen.push_back(process.slot);
          return seen.size() < most;
        });
  };
  EXPECT_EQ(walk(0, UINT32_MAX, 100), 0u);
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), pids[3].slot), 0);
  // A piece ends after `max_slots` slots, also if no process lives in them.
  EXPECT_EQ(walk(0, 4, 100), 4u);
  EXPECT_EQ(seen.size(), 3u + (pids[3].slot >= 4));
  // A piece ends behind the process whose visit returned false.
  EXPECT_EQ(walk(4, 100, 2), 6u + (pids[3].slot == 4 || pids[3].slot == 5));
  EXPECT_EQ(walk(9, 100, 1), 0u) << "the last slot in use";
  EXPECT_EQ(walk(10, 100, 1), 0u);
}

// A slot serves some two thousand million processes; then another one does.
TEST_F(ProcessTableTest, ASlotWhoseGenerationsAreUsedUpTakesNoRoom) {
  std::vector<Pid> pids;
  for (int i = 0; i < 100; ++i) pids.push_back(Reserve());
  ProcessTable::NoRoom why;
  const auto reserve = [&] {
    return processes_.Reserve(cache_, nullptr, 0, kDefaultPriority,
                              Owner::kNobody, Pid{}, 0, why);
  };
  ASSERT_EQ(reserve(), nullptr);
  pids[7].generation = UINT32_MAX - 2;
  End(pids[7]);
  Process* const other = reserve();
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->slot, 100u);
  EXPECT_EQ(reserve(), nullptr);
}

TEST(TypeLimits, RefusedTakeRefusesNoOther) {
  ProcessType type;
  type.name = "limited";
  TypeLimits limits({{.process_type = "limited", .max_processes = 1}});
  // One thread gives its place up and wants it back, while another one tries:
  // one of the two has it then.
  // ThreadSanitizer runs all of them.
  constexpr int kRounds = ACTORD_ADDRESS_SANITIZER ? 15'000 : 150'000;
  std::atomic<int> round{0};
  std::atomic<int> tried{0};
  std::atomic<bool> has_taken{false};
  ASSERT_TRUE(limits.Take(&type));
  std::thread other([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round.load() != i) std::this_thread::yield();
      has_taken = limits.Take(&type);
      tried = i;
    }
  });
  int nobody = 0;
  for (int i = 1; i <= kRounds; ++i) {
    round = i;
    for (int wait = i % 64; wait > 0; --wait) RelaxCpu();
    limits.Give(&type);
    const bool mine = limits.Take(&type);
    while (tried.load() != i) std::this_thread::yield();
    if (mine || has_taken) continue;
    ++nobody;
    ASSERT_TRUE(limits.Take(&type));
  }
  other.join();
  EXPECT_EQ(nobody, 0);
}

TEST_F(ProcessTableTest, PidThatNeverLivedHereHasNotEnded) {
  const Pid pid = Reserve();
  End(pid);
  ASSERT_TRUE(processes_.HasEnded(pid, Owner::kAny));
  const auto other = [&](auto change) {
    Pid changed = pid;
    change(changed);
    return changed;
  };
  const Pid never[] = {
      other([](Pid& p) { p.node = 4; }),
      other([](Pid& p) { p.incarnation = 78; }),
      other([](Pid& p) { p.slot = 1; }),         // not handed out yet
      other([](Pid& p) { p.generation += 2; }),  // of a process to come
      other([](Pid& p) { p.generation -= 1; }),  // even: of no process
  };
  for (const Pid& stranger : never) {
    EXPECT_FALSE(processes_.HasEnded(stranger, Owner::kAny))
        << FormatPid(stranger);
    EXPECT_EQ(processes_.Find(stranger), nullptr);
    EXPECT_EQ(ReasonOf(processes_.WhyNotFound(stranger, Owner::kAny)),
              reason::kProcessNotFound);
  }
}

TEST_F(ProcessTableTest, ASmallStateIsInTheProcessALargeOneIsNot) {
  BufferPool pool;
  BufferCache buffers(pool);
  Process& process = processes_.At(Reserve().slot);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{64}}) {
    process.state = process.NewState(buffers, bytes);
    EXPECT_EQ(process.state, &process.inline_state) << bytes;
    process.FreeState(buffers, std::exchange(process.state, nullptr), bytes);
  }
  for (const size_t bytes : {size_t{65}, size_t{100'000}}) {
    process.state = process.NewState(buffers, bytes);
    EXPECT_NE(process.state, &process.inline_state) << bytes;
    process.FreeState(buffers, std::exchange(process.state, nullptr), bytes);
  }
}

TEST_F(ProcessTableTest, AStateIsZeroAndTwoOfThemLieApart) {
  BufferPool pool;
  BufferCache buffers(pool);
  Process& process = processes_.At(Reserve().slot);
  constexpr std::array<std::byte, 64> kZero{};
  for (int round = 0; round < 2; ++round) {
    void* const old_state = process.NewState(buffers, kZero.size());
    EXPECT_EQ(std::memcmp(old_state, kZero.data(), kZero.size()), 0);
    std::memset(old_state, 1, kZero.size());
    process.state = old_state;
    // The new version's, while that of the old one is there.
    void* const new_state = process.NewState(buffers, kZero.size());
    ASSERT_NE(new_state, old_state);
    EXPECT_EQ(std::memcmp(new_state, kZero.data(), kZero.size()), 0);
    std::memset(new_state, 2, kZero.size());
    EXPECT_EQ(*static_cast<std::byte*>(old_state), std::byte{1});
    process.state = new_state;
    process.FreeState(buffers, old_state, kZero.size());
    process.FreeState(buffers, std::exchange(process.state, nullptr),
                      kZero.size());
  }
}

}  // namespace
}  // namespace actord::runtime
