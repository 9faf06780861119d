#include "runtime/memory/block_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

namespace actord::runtime {
namespace {

using Queue = BlockQueue<size_t>;

TEST(BlockQueue, GivesBackTheFirstFirst) {
  constexpr size_t kCount = 10 * Queue::kBlockSize + 1;
  Queue queue;
  EXPECT_TRUE(queue.empty());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kCount; ++i) {
      queue.push_back() = i;
      ASSERT_EQ(queue.size(), i + 1);
      ASSERT_EQ(queue.front(), 0u);
    }
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(queue.front(), i);
      ASSERT_EQ(queue[kCount - 1 - i], kCount - 1);
      queue.pop_front();
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(BlockQueue, ElementsKeepTheirAddresses) {
  Queue queue;
  for (size_t i = 0; i < 3; ++i) queue.push_back() = i;
  const size_t* const third = &queue[2];
  for (size_t i = 0; i < 100 * Queue::kBlockSize; ++i) queue.push_back() = i;
  queue.pop_front();
  queue.pop_front();
  EXPECT_EQ(&queue.front(), third);
  EXPECT_EQ(queue.front(), 2u);
}

TEST(BlockQueue, GoesOnInTheBlockThatItWasGiven) {
  Queue queue;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(queue.WantsBlock());
    std::unique_ptr<Queue::Block> block = Queue::NewBlock();
    const size_t* const place = block->data();
    queue.Give(block);
    EXPECT_EQ(block, nullptr);
    EXPECT_FALSE(queue.WantsBlock());
    EXPECT_EQ(&queue.push_back(), place);
    for (size_t i = 1; i < Queue::kBlockSize; ++i) queue.push_back();
  }
}

TEST(BlockQueue, TakesNoMoreThanOneBlock) {
  Queue queue;
  std::unique_ptr<Queue::Block> first = Queue::NewBlock();
  queue.Give(first);
  std::unique_ptr<Queue::Block> second = Queue::NewBlock();
  queue.Give(second);
  EXPECT_EQ(first, nullptr);
  EXPECT_NE(second, nullptr);
  queue.Give(first);  // nothing
  EXPECT_FALSE(queue.WantsBlock());
}

// So it wants none while as many go as come.
TEST(BlockQueue, UsesItsOwnBlocksAgain) {
  Queue queue;
  for (size_t i = 0; i < 2 * Queue::kBlockSize; ++i) queue.push_back();
  const size_t* const first = &queue.front();
  for (size_t i = 0; i < Queue::kBlockSize; ++i) queue.pop_front();
  EXPECT_FALSE(queue.WantsBlock());
  EXPECT_EQ(&queue.push_back(), first);
  for (size_t i = 0; i < 10 * Queue::kBlockSize; ++i) {
    queue.pop_front();
    queue.push_back();
    ASSERT_EQ(queue.size(), Queue::kBlockSize + 1);
  }
}

}  // namespace
}  // namespace actord::runtime
