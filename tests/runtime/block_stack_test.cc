#include "runtime/block_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

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

TEST(BlockStack, WhatLiesBelowStaysWhereItIs) {
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
  while (!stacks[0].empty()) stacks[0].pop_back(pool);
  EXPECT_EQ(pool.size(), 1u);
  stacks[1].push_back(0, pool);
  EXPECT_EQ(&stacks[1][0], block);
  EXPECT_EQ(pool.size(), 0u);
}

// What a burst has needed once is not kept for ever.
TEST(BlockStack, AsManyBlocksAreKeptAsAreInUse) {
  constexpr size_t kBlocks = 1000;
  Stack::Pool pool;
  Stack stack;
  for (size_t i = 0; i < kBlocks * Stack::kBlockSize; ++i) {
    stack.push_back(i, pool);
  }
  for (size_t left = kBlocks; left > 0; --left) {
    for (size_t i = 0; i < Stack::kBlockSize; ++i) stack.pop_back(pool);
    ASSERT_LE(pool.size(), left - 1 + Stack::Pool::kKept);
  }
  EXPECT_EQ(pool.size(), Stack::Pool::kKept);
}

}  // namespace
}  // namespace actord::runtime
