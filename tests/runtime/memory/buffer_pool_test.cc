// Buffers: memory that is used again and again.
#include "runtime/memory/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "runtime/system/random.h"

namespace actord::runtime {
namespace {

TEST(BufferCache, RoundsUpToWholeUnits) {
  EXPECT_EQ(BufferCache::RoundUp(1), 64u);
  EXPECT_EQ(BufferCache::RoundUp(64), 64u);
  EXPECT_EQ(BufferCache::RoundUp(65), 128u);
  EXPECT_EQ(BufferCache::RoundUp(1025), 1088u);
}

TEST(BufferCache, GivesAlignedBuffersThatDoNotOverlap) {
  BufferPool pool;
  BufferCache cache(pool);
  struct Buffer {
    unsigned char* memory;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Buffer> live;
  Random random(5);
  const auto free_one = [&](size_t i) {
    for (size_t b = 0; b < live[i].bytes; ++b) {
      ASSERT_EQ(live[i].memory[b], live[i].mark);
    }
    cache.Deallocate(live[i].memory, live[i].bytes);
    live[i] = live.back();
    live.pop_back();
  };
  for (int round = 0; round < 20'000; ++round) {
    // Grows and shrinks, so that batches are taken and given back.
    const bool grow = (round / 1000) % 2 == 0;
    if (live.empty() || random.Next() % 4 < (grow ? 3u : 1u)) {
      const size_t bytes = 1 + random.Next() % 1200;
      auto* memory = static_cast<unsigned char*>(cache.Allocate(bytes));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      const auto mark = static_cast<unsigned char>(random.Next());
      std::memset(memory, mark, bytes);
      live.push_back({memory, bytes, mark});
    } else {
      free_one(random.Next() % live.size());
    }
  }
  while (!live.empty()) free_one(0);
}

// The pages of [memory, memory + bytes) that are in memory.
size_t ResidentPages(void* memory, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory) / page * page;
  const size_t pages =
      (reinterpret_cast<uintptr_t>(memory) + bytes - begin + page - 1) / page;
  std::vector<unsigned char> states(pages);
  EXPECT_EQ(
      mincore(reinterpret_cast<void*>(begin), pages * page, states.data()), 0);
  return static_cast<size_t>(
      std::count_if(states.begin(), states.end(),
                    [](unsigned char state) { return (state & 1) != 0; }));
}

class PagesTest : public ::testing::TestWithParam<size_t> {};

TEST_P(PagesTest, FreePagesGoBackAndBuffersInUseKeepTheirContent) {
  const size_t bytes = GetParam();
  constexpr size_t kBytes = size_t{8} << 20;
  BufferPool pool;
  BufferCache cache(pool);
  std::vector<unsigned char*> buffers;
  for (size_t i = 0; i < kBytes / bytes; ++i) {
    buffers.push_back(static_cast<unsigned char*>(cache.Allocate(bytes)));
    std::memset(buffers.back(), static_cast<int>(i % 251), bytes);
  }
  EXPECT_EQ(pool.GivePagesBack(), 0u);
  // One buffer of each 1,000 stays in use.
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (i % 1000 != 0) cache.Deallocate(buffers[i], bytes);
  }
  const size_t free = pool.FreeBytes();
  EXPECT_GT(free, kBytes / 10 * 9);
  const size_t given = pool.GivePagesBack();
  EXPECT_GT(given, kBytes / 10 * 7);
  EXPECT_EQ(pool.FreeBytes(), free);
  for (size_t i = 0; i < buffers.size(); i += 1000) {
    for (size_t b = 0; b < bytes; ++b) ASSERT_EQ(buffers[i][b], i % 251);
    cache.Deallocate(buffers[i], bytes);
  }
  // Some page in the middle is not in memory any more.
  size_t resident = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    resident += ResidentPages(buffers[i], bytes) > 0 ? bytes : 0;
  }
  EXPECT_LT(resident, kBytes / 10 * 4);
  // All of them can be used again.
  std::set<void*> again;
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto* const buffer = static_cast<unsigned char*>(cache.Allocate(bytes));
    std::memset(buffer, 255, bytes);
    EXPECT_TRUE(again.insert(buffer).second);
  }
  EXPECT_LT(pool.FreeBytes(), kBytes / 10);
  for (void* buffer : again) cache.Deallocate(buffer, bytes);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PagesTest,
                         ::testing::Values(64, 192, 576, 1024));

// Threads allocate and free while pages go back.
TEST(BufferCache, PagesGoBackBesideThreadsThatAllocate) {
  BufferPool pool;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned char mark = 1; mark <= 2; ++mark) {
    threads.emplace_back([&pool, &stop, mark] {
      BufferCache cache(pool);
      std::vector<unsigned char*> live;
      while (!stop.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 2000; ++i) {
          live.push_back(static_cast<unsigned char*>(cache.Allocate(128)));
          std::memset(live.back(), mark, 128);
        }
        for (unsigned char* const buffer : live) {
          ASSERT_EQ(buffer[0], mark);
          ASSERT_EQ(buffer[127], mark);
          cache.Deallocate(buffer, 128);
        }
        live.clear();
      }
    });
  }
  for (int i = 0; i < 200; ++i) pool.GivePagesBack();
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
}

TEST(BufferCache, UsesHotMemoryAgain) {
  BufferPool pool;
  BufferCache cache(pool);
  void* first = cache.Allocate(100);
  cache.Deallocate(first, 100);
  EXPECT_EQ(cache.Allocate(128), first);
  cache.Deallocate(first, 128);
}

// Buffers made by one thread and freed by another come back through the pool
// instead of piling up.
TEST(BufferCache, SurplusOfOneThreadFeedsAnother) {
  BufferPool pool;
  BufferCache producer(pool);
  BufferCache consumer(pool);
  std::set<void*> ever;
  for (int round = 0; round < 200; ++round) {
    std::vector<void*> batch;
    for (int i = 0; i < 500; ++i) batch.push_back(producer.Allocate(64));
    ever.insert(batch.begin(), batch.end());
    for (void* buffer : batch) consumer.Deallocate(buffer, 64);
  }
  EXPECT_LE(ever.size(), 500u + 4 * 64);
}

TEST(BufferCache, ManyThreadsShareAPool) {
  BufferPool pool;
  constexpr int kThreads = 3;
  std::vector<std::atomic<void*>> exchange(64);
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        BufferCache cache(pool);
        Random random(static_cast<uint64_t>(t));
        for (int i = 0; i < 50'000; ++i) {
          void* mine = cache.Allocate(64);
          std::memset(mine, t, 64);
          void* other = exchange[random.Next() % exchange.size()].exchange(
              mine, std::memory_order_acq_rel);
          if (other != nullptr) cache.Deallocate(other, 64);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  BufferCache cache(pool);
  for (auto& slot : exchange) {
    if (void* left = slot.load()) cache.Deallocate(left, 64);
  }
}

}  // namespace
}  // namespace actord::runtime
