// The queues of one worker for all priorities.
#include "runtime/scheduler/ready_queues.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

namespace actord::runtime {
namespace {

class ReadyQueuesTest : public ::testing::Test {
 protected:
  Process* operator[](size_t i) { return &(*processes_)[i]; }

  std::unique_ptr<ReadyQueues> queues_ = std::make_unique<ReadyQueues>();

 private:
  std::unique_ptr<std::array<Process, 300>> processes_ =
      std::make_unique<std::array<Process, 300>>();
};

TEST_F(ReadyQueuesTest, EachLevelIsAQueueOfItsOwn) {
  for (int level = 0; level < kPriorities; ++level) {
    ASSERT_TRUE(queues_->Push((*this)[static_cast<size_t>(level)], level));
  }
  EXPECT_EQ(queues_->SizeOf(), 32u);
  EXPECT_EQ(queues_->SizeOf(LevelBit(3) | LevelBit(31)), 2u);
  for (int level = 0; level < kPriorities; ++level) {
    EXPECT_EQ(queues_->Size(level), 1u);
    EXPECT_EQ(queues_->PopNewest(level), (*this)[static_cast<size_t>(level)]);
    EXPECT_EQ(queues_->PopOldest(level), nullptr);
  }
  EXPECT_EQ(queues_->SizeOf(), 0u);
}

TEST_F(ReadyQueuesTest, ALevelWithSomethingHasItsBitAndOneFoundEmptyHasNot) {
  EXPECT_EQ(queues_->levels(), LevelBit(kDefaultPriority)) << "always set";
  EXPECT_TRUE(queues_->Push((*this)[0], 31));
  EXPECT_TRUE(queues_->Push((*this)[1], 0));
  EXPECT_EQ(queues_->levels(),
            LevelBit(31) | LevelBit(kDefaultPriority) | LevelBit(0));
  EXPECT_EQ(queues_->PopNewest(31), (*this)[0]);
  EXPECT_EQ(queues_->PopNewest(31), nullptr);
  queues_->FoundEmpty(31);
  queues_->FoundEmpty(kDefaultPriority);
  EXPECT_EQ(queues_->levels(), LevelBit(kDefaultPriority) | LevelBit(0));
  EXPECT_TRUE(queues_->Push((*this)[0], 31));
  EXPECT_EQ(queues_->Size(31), 1u);
  EXPECT_NE(queues_->levels() & LevelBit(31), 0u);
}

TEST_F(ReadyQueuesTest, AFullLevelLeavesRoomInTheOthers) {
  for (size_t i = 0; i < 256; ++i) ASSERT_TRUE(queues_->Push((*this)[i], 5));
  EXPECT_FALSE(queues_->Push((*this)[256], 5));
  EXPECT_TRUE(queues_->Push((*this)[257], 6));
  ReadyQueues::Level::Batch oldest;
  ASSERT_EQ(queues_->PopOldestHalf(5, oldest), 128u);
  EXPECT_EQ(oldest[0], (*this)[0]);
  EXPECT_EQ(oldest[127], (*this)[127]);
  EXPECT_EQ(queues_->Size(5), 128u);
  EXPECT_EQ(queues_->Size(6), 1u);
}

TEST_F(ReadyQueuesTest, AThiefTakesTheOldestHalfOfTheHighestLevel) {
  ReadyQueues thief;
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(queues_->Push((*this)[i], 3));
  for (size_t i = 10; i < 15; ++i) EXPECT_TRUE(queues_->Push((*this)[i], 20));
  // A bit of which nothing is left, above all.
  EXPECT_TRUE(queues_->Push((*this)[20], 30));
  EXPECT_EQ(queues_->PopOldest(30), (*this)[20]);

  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[10]);
  EXPECT_EQ(thief.levels(), LevelBit(kDefaultPriority) | LevelBit(20));
  EXPECT_EQ(thief.Size(20), 2u);
  EXPECT_EQ(thief.PopOldest(20), (*this)[11]);
  EXPECT_EQ(thief.PopOldest(20), (*this)[12]);
  EXPECT_EQ(queues_->Size(20), 2u);
  EXPECT_EQ(queues_->Size(3), 8u);
  // The rest of it, then the lower level.
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[13]);
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[14]);
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[0]);
  EXPECT_EQ(thief.Size(3), 3u);
}

TEST_F(ReadyQueuesTest, PushedBackProcessesAreAQueueBehindTheLevel) {
  EXPECT_TRUE(queues_->IsEmpty(7));
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(queues_->PushBack((*this)[i], 7));
  EXPECT_EQ(queues_->PopNewest(7), nullptr);
  EXPECT_EQ(queues_->PopOldest(7), nullptr);
  EXPECT_FALSE(queues_->IsEmpty(7));
  EXPECT_EQ(queues_->Size(7), 0u);
  EXPECT_EQ(queues_->SizeOf(), 3u);
  EXPECT_NE(queues_->NonEmptyFromTop() & LevelBit(7), 0u);
  EXPECT_EQ(queues_->PopBack(8), nullptr);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(queues_->PopBack(7), (*this)[i]);
  EXPECT_EQ(queues_->PopBack(7), nullptr);
  EXPECT_EQ(queues_->NonEmptyFromTop(), 0u);
}

TEST_F(ReadyQueuesTest, AThiefTakesWhatWasPushedBackFirstOfALevel) {
  ReadyQueues thief;
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(queues_->PushBack((*this)[i], 9));
  EXPECT_TRUE(queues_->Push((*this)[10], 9));
  EXPECT_TRUE(queues_->PushBack((*this)[11], 3));
  // Half of it, which stays behind the thief's others.
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[0]);
  EXPECT_EQ(thief.Size(9), 0u);
  EXPECT_EQ(thief.PopBack(9), (*this)[1]);
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[2]);
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[3]);
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[10]);
  EXPECT_EQ(thief.StealFrom(*queues_), (*this)[11]);
}

TEST_F(ReadyQueuesTest, NothingIsStolenFromEmptyQueues) {
  ReadyQueues thief;
  EXPECT_TRUE(queues_->Push((*this)[0], 7));
  queues_->PopOldest(7);
  EXPECT_EQ(thief.StealFrom(*queues_), nullptr);
  EXPECT_EQ(thief.levels(), LevelBit(kDefaultPriority));
}

// The bitmap's promise to a sleeper, looked at from another thread in the
// middle of a push: what can be found has its bit.
TEST_F(ReadyQueuesTest, NobodySeesALevelWithSomethingButWithoutItsBit) {
  constexpr uint64_t kRounds = 200'000;
  const auto level_of = [](uint64_t phase) {
    return static_cast<int>(phase / 2 * 5 % kPriorities);
  };
  // Odd from before a push until before the pop.
  std::atomic<uint64_t> phase{0};
  uint64_t seen = 0;
  uint64_t missed = 0;
  std::thread looker([&] {
    for (uint64_t at = 0; at < 2 * kRounds; at = phase) {
      if (at % 2 == 0 || queues_->Size(level_of(at)) == 0) continue;
      const bool bit = (queues_->levels() & LevelBit(level_of(at))) != 0;
      if (phase != at) continue;
      ++seen;
      missed += bit ? 0 : 1;
    }
  });
  for (uint64_t round = 0; round < kRounds; ++round) {
    ++phase;
    const int level = level_of(phase);
    EXPECT_TRUE(queues_->Push((*this)[0], level));
    if (round % 256 == 0) std::this_thread::yield();
    ++phase;
    EXPECT_EQ(queues_->PopNewest(level), (*this)[0]);
    EXPECT_EQ(queues_->PopNewest(level), nullptr);
    queues_->FoundEmpty(level);
  }
  looker.join();
  EXPECT_NE(seen, 0u);
  EXPECT_EQ(missed, 0u);
}

}  // namespace
}  // namespace actord::runtime
