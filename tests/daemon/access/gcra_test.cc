#include "daemon/access/gcra.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace actord::daemon {
namespace {

constexpr uint64_t kBegin = 5'000'000'000;

TEST(Gcra, AdmitsTheBurstAndThenTellsTheExactDelay) {
  for (const uint64_t cost : {1u, 7u, 1000u, 333'333'334u}) {
    for (const uint64_t burst : {1u, 3u, 100u}) {
      SCOPED_TRACE(cost);
      SCOPED_TRACE(burst);
      Gcra gcra;
      uint64_t now = kBegin;
      for (uint64_t i = 0; i < burst; ++i) {
        EXPECT_EQ(gcra.Take(cost, burst * cost, now), 0u) << i;
      }
      for (int i = 0; i < 5; ++i) {
        // Refusals change nothing.
        const uint64_t delay = gcra.Take(cost, burst * cost, now);
        EXPECT_EQ(delay, cost);
        EXPECT_EQ(gcra.Take(cost, burst * cost, now + delay - 1), 1u);
        now += delay;
        EXPECT_EQ(gcra.Delay(cost, burst * cost, now), 0u);
        EXPECT_EQ(gcra.Take(cost, burst * cost, now), 0u);
      }
    }
  }
}

TEST(Gcra, ARestBringsTheBurstBackAndNoMore) {
  Gcra gcra;
  for (const uint64_t now : {kBegin, kBegin + 1'000'000}) {
    int admitted = 0;
    while (gcra.Take(10, 50, now) == 0) ++admitted;
    EXPECT_EQ(admitted, 5) << now;
  }
}

TEST(Gcra, ACostAboveTheBurstIsAdmittedAfterARest) {
  Gcra gcra;
  EXPECT_EQ(gcra.Take(1000, 10, kBegin), 0u);
  EXPECT_EQ(gcra.Take(1000, 10, kBegin), 1000u);
  EXPECT_EQ(gcra.Take(1, 10, kBegin), 991u);
  EXPECT_EQ(gcra.Take(1000, 10, kBegin + 999), 1u);
  EXPECT_EQ(gcra.Take(1000, 10, kBegin + 1000), 0u);
}

TEST(Gcra, ReturnedUnitsCanBeSpentAgain) {
  Gcra gcra;
  EXPECT_EQ(gcra.Take(60, 100, kBegin), 0u);
  EXPECT_EQ(gcra.Take(60, 100, kBegin), 20u);
  gcra.GiveBack(60);
  EXPECT_EQ(gcra.Take(100, 100, kBegin), 0u);
  EXPECT_EQ(gcra.Take(1, 100, kBegin), 1u);
  // More than there is: nothing is owed to the client for it.
  gcra.Forget();
  gcra.GiveBack(60);
  EXPECT_EQ(gcra.Take(100, 100, kBegin), 0u);
  EXPECT_EQ(gcra.Take(1, 100, kBegin), 1u);
}

TEST(Gcra, AChargeDelaysAndDoesNotOverflow) {
  Gcra gcra;
  gcra.Charge(500, kBegin);
  gcra.Charge(500, kBegin);
  EXPECT_EQ(gcra.Delay(0, 100, kBegin), 900u);
  for (int i = 0; i < 20; ++i) gcra.Charge(Gcra::kMaxNs, kBegin);
  EXPECT_EQ(gcra.Delay(0, 0, kBegin), Gcra::kMaxNs);
}

// All threads spend at the same moments. The sum is exact: neither does a
// decision get lost, nor is one made twice.
TEST(Gcra, ThreadsTogetherSpendExactlyTheRate) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  constexpr uint64_t kCost = 3;
  constexpr uint64_t kSpan = 300'000;
  Gcra gcra;
  std::atomic<int> round{0};
  std::atomic<int> done{0};
  std::atomic<uint64_t> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i <= kRounds; ++i) {
        while (round.load() < i) std::this_thread::yield();
        const uint64_t now = kBegin + static_cast<uint64_t>(i) * kSpan;
        while (gcra.Take(kCost, kSpan, now) == 0) {
          admitted.fetch_add(1);
          // Like a call that another quota refuses.
          if (gcra.Take(kCost, kSpan, now) == 0) gcra.GiveBack(kCost);
        }
        done.fetch_add(1);
      }
    });
  }
  for (int i = 1; i <= kRounds; ++i) {
    round = i;
    while (done.load() < i * kThreads) std::this_thread::yield();
    // A thread may have met the cost that another one was about to give back.
    const uint64_t now = kBegin + static_cast<uint64_t>(i) * kSpan;
    while (gcra.Take(kCost, kSpan, now) == 0) admitted.fetch_add(1);
    EXPECT_EQ(admitted.exchange(0), kSpan / kCost) << "round " << i;
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Gcra, ThreadsLoseNoCharge) {
  constexpr int kThreads = 4;
  constexpr int kCharges = 50'000;
  Gcra gcra;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCharges; ++i) gcra.Charge(7, kBegin);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gcra.Delay(0, 0, kBegin), uint64_t{kThreads} * kCharges * 7);
}

}  // namespace
}  // namespace actord::daemon
