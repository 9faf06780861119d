#include <actord/frame_pool.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace actord::detail {
namespace {

TEST(FramePool, BlocksAreApartAndAligned) {
  std::vector<char*> blocks;
  for (size_t bytes = 1; bytes <= 5000; bytes += 37) {
    auto* const block = static_cast<char*>(FramePool::Allocate(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignof(std::max_align_t),
              0u);
    std::memset(block, static_cast<int>(bytes), bytes);
    blocks.push_back(block);
  }
  size_t bytes = 1;
  for (char* block : blocks) {
    for (size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(block[i], static_cast<char>(bytes));
    }
    FramePool::Deallocate(block, bytes);
    bytes += 37;
  }
}

TEST(FramePool, FreedBlockIsHandedOutAgainForTheSameSize) {
  if (!FramePool::kEnabled) GTEST_SKIP() << "AddressSanitizer does without";
  FramePool::Deallocate(FramePool::Allocate(200),
                        200);  // the first of a thread
  void* const block = FramePool::Allocate(200);
  FramePool::Deallocate(block, 200);
  EXPECT_NE(FramePool::Allocate(300), block);
  EXPECT_EQ(FramePool::Allocate(193), block);
}

TEST(FramePool, BlocksMayBeFreedOnAnotherThread) {
  constexpr int kRounds = 2000;
  std::vector<void*> blocks(kRounds);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::thread([&] {
      for (void*& block : blocks) {
        block = FramePool::Allocate(256);
        std::memset(block, 7, 256);
      }
    }).join();
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(),
              blocks.size());
    std::thread([&] {
      // More than it caches.
      for (void* block : blocks) FramePool::Deallocate(block, 256);
    }).join();
  }
}

}  // namespace
}  // namespace actord::detail
