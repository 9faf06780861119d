#include "runtime/effects/blocking_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace actord::runtime {
namespace {

constexpr uint64_t kForever = UINT64_MAX;

TEST(BlockingPool, RunsEveryJobOnce) {
  std::atomic<int> ran{0};
  BlockingPool pool(3, 100'000);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(pool.Post([&ran] { ++ran; }));
  }
  while (ran != 10'000) std::this_thread::yield();
  EXPECT_EQ(pool.Stop(kForever), 0u);
  EXPECT_EQ(ran, 10'000);
}

TEST(BlockingPool, StartsAsManyThreadsAsAreNeededAndNoMoreThanItMay) {
  BlockingPool pool(3, 100);
  std::promise<void> open;
  std::shared_future<void> opened(open.get_future());
  std::atomic<int> inside{0};
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(pool.Post([&inside, opened] {
      ++inside;
      opened.wait();
    }));
  }
  while (inside != 3) std::this_thread::yield();
  EXPECT_EQ(pool.queued(), 7u);
  EXPECT_EQ(inside, 3);
  open.set_value();
  while (inside != 10) std::this_thread::yield();
}

TEST(BlockingPool, RefusesWorkAboveItsLimit) {
  BlockingPool pool(0, 2);
  int ran = 0;
  EXPECT_TRUE(pool.Post([&] { ++ran; }));
  EXPECT_TRUE(pool.Post([&] { ran += 10; }));
  EXPECT_FALSE(pool.Post([&] { ran += 100; }));
  EXPECT_EQ(pool.queued(), 2u);
  EXPECT_TRUE(pool.RunOne());
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(pool.Post([&] { ran += 1000; }));
  EXPECT_TRUE(pool.RunOne());
  EXPECT_TRUE(pool.RunOne());
  EXPECT_FALSE(pool.RunOne());
  EXPECT_EQ(ran, 1011);
}

TEST(BlockingPool, StopDropsWhatWaitsAndReportsWhatIsStuck) {
  std::promise<void> open;
  std::shared_future<void> opened(open.get_future());
  std::promise<void> entered;
  std::atomic<bool> dropped_ran{false};
  auto held = std::make_shared<int>(1);
  BlockingPool pool(1, 100);
  ASSERT_TRUE(pool.Post([&entered, opened] {
    entered.set_value();
    opened.wait();
  }));
  entered.get_future().wait();
  ASSERT_TRUE(pool.Post([&dropped_ran, held] { dropped_ran = true; }));
  EXPECT_EQ(pool.Stop(1'000'000), 1u);
  EXPECT_EQ(held.use_count(), 1) << "a dropped job has let go of its captures";
  EXPECT_FALSE(pool.Post([] {}));
  open.set_value();
  EXPECT_EQ(pool.Stop(kForever), 0u);
  EXPECT_EQ(pool.Stop(0), 0u);
  EXPECT_FALSE(dropped_ran);
}

TEST(BlockingPool, AJobMayPostAnother) {
  BlockingPool pool(1, 10);
  std::promise<void> done;
  ASSERT_TRUE(
      pool.Post([&] { EXPECT_TRUE(pool.Post([&] { done.set_value(); })); }));
  done.get_future().wait();
}

TEST(BlockingPool, StopRacesWithPosts) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> accepted{0};
    std::atomic<int> ended{0};  // ran or was dropped
    {
      BlockingPool pool(2, 1000);
      // Counts when it is destroyed, run or not.
      const auto job = [&ended] {
        return std::shared_ptr<void>(nullptr, [&ended](void*) { ++ended; });
      };
      std::thread posting([&] {
        for (int i = 0; i < 200; ++i) {
          std::shared_ptr<void> token = job();
          if (pool.Post([token = std::move(token)] {})) ++accepted;
        }
      });
      pool.Stop(kForever);
      posting.join();
    }
    EXPECT_EQ(ended, 200);
    EXPECT_LE(accepted, 200);
  }
}

}  // namespace
}  // namespace actord::runtime
