#include "runtime/memory/block_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "tests/support/heap_bytes.h"

namespace actord::runtime {
namespace {

using Stack = BlockStack<size_t>;

TEST(BlockStack, GivesBackTheLastFirst) {
  constexpr size_t kCount = 10 * Stack::kBlockSize + 1;
  Stack::Pool pool;
  Stack stack;
  EXPECT_TRUE(stack.empty());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kCount; ++i) {
      stack.push_back(i, pool);
      ASSERT_EQ(stack.size(), i + 1);
      ASSERT_EQ(stack.back(), i);
    }
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(stack[i], i);
    for (size_t i = kCount; i > 0; --i) {
      ASSERT_EQ(stack.back(), i - 1);
      stack.pop_back(pool);
    }
    EXPECT_TRUE(stack.empty());
  }
}

TEST(BlockStack, LowerElementsKeepTheirAddresses) {
  Stack::Pool pool;
  Stack stack;
  stack.push_back(7, pool);
  const size_t* const first = &stack[0];
  for (size_t i = 0; i < 100 * Stack::kBlockSize; ++i) stack.push_back(i, pool);
  EXPECT_EQ(&stack[0], first);
  while (stack.size() > 1) stack.pop_back(pool);
  EXPECT_EQ(&stack[0], first);
  EXPECT_EQ(stack[0], 7u);
}

TEST(BlockStack, StacksUseTheirBlocksInTurn) {
  Stack::Pool pool;
  std::array<Stack, 2> stacks;
  for (size_t i = 0; i < Stack::kBlockSize; ++i) stacks[0].push_back(i, pool);
  const size_t* const block = &stacks[0][0];
  const size_t at_hand = pool.size();
  while (!stacks[0].empty()) stacks[0].pop_back(pool);
  EXPECT_EQ(pool.size(), at_hand + 1);
  stacks[1].push_back(0, pool);
  EXPECT_EQ(&stacks[1][0], block);
  EXPECT_EQ(pool.size(), at_hand);
}

// No block is given out twice, and memory is taken only for blocks that are
// needed at the same time.
TEST(BlockStack, BlocksThatAreGivenBackAreUsedAgain) {
  constexpr size_t kBlocks = 10 * Stack::Pool::kSlabBlocks;
  Stack::Pool pool;
  std::array<Stack, 3> stacks;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kBlocks * Stack::kBlockSize; ++i) {
      stacks[i % 3].push_back(i, pool);
    }
    for (size_t i = kBlocks * Stack::kBlockSize; i > 0; --i) {
      Stack& stack = stacks[(i - 1) % 3];
      ASSERT_EQ(stack.back(), i - 1);
      stack.pop_back(pool);
    }
    EXPECT_GE(pool.size(), kBlocks);
    EXPECT_LE(pool.size(), kBlocks + Stack::Pool::kSlabBlocks);
  }
}

// There are many stacks, and not all of them are large at the same time.
TEST(BlockStack, AnEmptyStackKeepsNoLongList) {
  constexpr size_t kCount = 1000 * Stack::kBlockSize;
  Stack::Pool pool;
  std::array<Stack, 2> stacks;
  const auto fill_and_empty = [&pool](Stack& stack) {
    for (size_t i = 0; i < kCount; ++i) stack.push_back(i, pool);
    while (!stack.empty()) stack.pop_back(pool);
  };
  fill_and_empty(stacks[0]);  // the blocks are in the pool from here on
  const size_t before = actord::testing::HeapBytes();
  fill_and_empty(stacks[1]);
  EXPECT_EQ(actord::testing::HeapBytes(), before);
}

}  // namespace
}  // namespace actord::runtime
