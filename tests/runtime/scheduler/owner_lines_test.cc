// The turns of owners in one level, and when the global queue is fair.
#include "runtime/scheduler/owner_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/process/activity.h"
#include "runtime/scheduler/global_queue.h"
#include "tests/runtime/scheduler/queue_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;

constexpr Owner kAlice{1};
constexpr Owner kBob{2};
constexpr Owner kCarol{3};

class OwnersQueueTest : public QueueTest {
 protected:
  // A process of `owner` whose turn costs `events`.
  Process* Make(Owner owner, uint64_t events = 1) {
    Process* const process = (*this)[made_++];
    process->owner = owner;
    process->activity = events * Activity::kMessagesOne;
    return process;
  }
  static Owner OwnerOf(const Process* process) {
    return process->owner.load(std::memory_order_relaxed);
  }

 private:
  size_t made_ = 0;
};

class OwnerLinesTest : public OwnersQueueTest {
 protected:
  void Push(Process* process) { lines_.Push(process, OwnerOf(process)); }
  void PushMany(Owner owner, size_t count, uint64_t events = 1) {
    for (size_t i = 0; i < count; ++i) Push(Make(owner, events));
  }
  // The owners of the next processes, in their order.
  std::vector<Owner> Take(size_t count) {
    std::vector<Process*> taken(count);
    taken.resize(lines_.Take(taken));
    std::vector<Owner> owners(taken.size());
    std::transform(taken.begin(), taken.end(), owners.begin(), OwnerOf);
    return owners;
  }

  OwnerLines lines_;
};

TEST_F(OwnerLinesTest, ALineIsFirstInFirstOut) {
  std::vector<Process*> pushed;
  for (int i = 0; i < 10; ++i) {
    pushed.push_back(Make(kAlice));
    Push(pushed.back());
  }
  std::vector<Process*> taken(20);
  ASSERT_EQ(lines_.Take(taken), 10u);
  taken.resize(10);
  EXPECT_EQ(taken, pushed);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(OwnerLinesTest, OwnersTakeTurns) {
  PushMany(kAlice, 100);
  PushMany(kBob, 2);
  PushMany(kCarol, 1);
  EXPECT_THAT(Take(6), ElementsAre(kAlice, kBob, kCarol, kAlice, kBob, kAlice));
  EXPECT_EQ(lines_.size(), 97u);
}

TEST_F(OwnerLinesTest, ATurnCostsItsEvents) {
  PushMany(kAlice, 2, 10);
  PushMany(kBob, 20);
  EXPECT_EQ(Take(1).front(), kAlice);
  EXPECT_THAT(Take(10), Each(Eq(kBob)));
  EXPECT_EQ(Take(1).front(), kAlice);
  EXPECT_THAT(Take(10), Each(Eq(kBob)));
}

TEST_F(OwnerLinesTest, ATurnCostsAtMostTheEventsThatItCanTake) {
  PushMany(kAlice, 2, 10 * OwnerLines::kMostCost);
  PushMany(kBob, 2 * OwnerLines::kMostCost);
  EXPECT_EQ(Take(1).front(), kAlice);
  EXPECT_THAT(Take(OwnerLines::kMostCost), Each(Eq(kBob)));
  EXPECT_EQ(Take(1).front(), kAlice);
}

TEST_F(OwnerLinesTest, AnOwnerSavesNothingUp) {
  PushMany(kBob, 1);
  Take(1);
  PushMany(kAlice, 1000);
  Take(500);
  PushMany(kBob, 100);
  const std::vector<Owner> next = Take(100);
  EXPECT_LE(std::count(next.begin(), next.end(), kBob), 51);
}

TEST_F(OwnerLinesTest, AnOwnerPaysThoughItsLineWasEmptyMeanwhile) {
  PushMany(kBob, 100);
  Process* const busy = Make(kAlice, 20);
  int turns_of_alice = 0;
  Push(busy);
  for (int i = 0; i < 63; ++i) {
    if (Take(1).front() != kAlice) continue;
    ++turns_of_alice;
    Push(busy);
  }
  EXPECT_EQ(turns_of_alice, 3) << "one turn for 20 of Bob's";
}

TEST_F(OwnerLinesTest, ALatecomerWaitsForOneTurnOfEachOther) {
  PushMany(kAlice, 1000);
  PushMany(kBob, 1000);
  Take(700);
  PushMany(kCarol, 1);
  const std::vector<Owner> next = Take(3);
  EXPECT_THAT(next, ::testing::Contains(kCarol));
}

TEST_F(OwnerLinesTest, ForgetsOwnersThatHaveNothing) {
  for (uint16_t i = 1; i < 1000; ++i) PushMany(Owner{i}, 1);
  EXPECT_EQ(Take(2000).size(), 999u);
  // Owners come and go for ever, and only owners with a debt stay.
  PushMany(kBob, 3);
  PushMany(kAlice, 3);
  EXPECT_EQ(Take(10).size(), 6u);
}

class FairQueueTest : public OwnersQueueTest {
 protected:
  FairQueueTest() { queue_.BeginOwners(); }

  void PushMany(Owner owner, size_t count) {
    for (size_t i = 0; i < count; ++i) queue_.Push(Make(owner));
  }
  std::vector<Owner> Take(size_t room) {
    std::vector<Process*> taken(room);
    taken.resize(queue_.Take(kDefaultPriority, taken, 1));
    std::vector<Owner> owners(taken.size());
    std::transform(taken.begin(), taken.end(), owners.begin(), OwnerOf);
    return owners;
  }

  GlobalQueue queue_;
};

TEST_F(FairQueueTest, IsNotFairForOneOwner) {
  PushMany(Owner::kNobody, 100);
  EXPECT_FALSE(queue_.IsFair());
  EXPECT_EQ(Take(16).size(), 16u);
}

TEST_F(FairQueueTest, QueueWithoutOwnersIsNotFair) {
  GlobalQueue queue;
  queue.Push(Make(kAlice));
  queue.Push(Make(kBob));
  EXPECT_FALSE(queue.IsFair());
}

TEST_F(FairQueueTest, TheOtherOwnerPassesABacklog) {
  PushMany(kAlice, 1000);
  EXPECT_TRUE(queue_.IsFair()) << "Nobody had the turn before";
  PushMany(kBob, 2);
  EXPECT_TRUE(queue_.IsFair());
  EXPECT_EQ(queue_.size(), 1002u);
  std::vector<Owner> taken;
  for (int i = 0; i < 4; ++i) {
    const std::vector<Owner> one = Take(16);
    ASSERT_EQ(one.size(), 1u) << "none waits in a worker's queue";
    taken.push_back(one.front());
  }
  EXPECT_THAT(taken, ElementsAre(kAlice, kBob, kAlice, kBob));
}

TEST_F(FairQueueTest, ABacklogFromBeforeItWasFairIsOfItsOwner) {
  PushMany(Owner::kNobody, 1000);
  EXPECT_FALSE(queue_.IsFair());
  PushMany(kBob, 1);
  EXPECT_EQ(queue_.size(), 1001u);
  EXPECT_THAT(Take(16), ElementsAre(Owner::kNobody));
  EXPECT_THAT(Take(16), ElementsAre(kBob));
  size_t left = 0;
  for (; !Take(16).empty(); ++left) continue;
  EXPECT_EQ(left, 999u);
  EXPECT_EQ(queue_.levels(), 0u);
}

TEST_F(FairQueueTest, StopsWhenOneOwnerHasPushedForLong) {
  PushMany(kAlice, 1);
  PushMany(kBob, 1);
  for (uint32_t i = 1; i < SchedulerPolicy::kPushesAlone; ++i) {
    PushMany(kBob, 1);
    ASSERT_EQ(Take(1).size(), 1u);
  }
  // Alice's process was taken, and all that is left is Bob's.
  ASSERT_TRUE(queue_.IsFair());
  const size_t before = queue_.size();
  PushMany(kBob, 20);
  EXPECT_FALSE(queue_.IsFair());
  EXPECT_EQ(queue_.size(), before + 20);
  EXPECT_THAT(Take(16), ::testing::SizeIs(16));
  PushMany(kAlice, 1);
  EXPECT_TRUE(queue_.IsFair());
  size_t left = 0;
  for (; !Take(16).empty(); ++left) continue;
  EXPECT_EQ(left, before + 20 - 16 + 1);
}

TEST_F(FairQueueTest, IsFairAsLongAsAnotherOwnerWaits) {
  Process* const low = Make(kAlice);
  low->priority = 3;
  queue_.Push(low);
  for (uint32_t i = 0; i < 3 * SchedulerPolicy::kPushesAlone; ++i) {
    PushMany(kBob, 1);
    ASSERT_EQ(Take(1).size(), 1u);
  }
  EXPECT_TRUE(queue_.IsFair());
}

TEST_F(FairQueueTest, TheWordShowsLevelsAndFairness) {
  PushMany(kAlice, 1);
  PushMany(kBob, 1);
  EXPECT_EQ(queue_.Word(), GlobalQueue::kFair | LevelBit(kDefaultPriority));
  Take(1);
  Take(1);
  EXPECT_EQ(queue_.Word(), GlobalQueue::kFair);
  EXPECT_EQ(queue_.levels(), 0u);
}

}  // namespace
}  // namespace actord::runtime
