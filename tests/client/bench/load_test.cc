#include "client/bench/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace actord::client::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::Pair;

constexpr milliseconds kLong{60'000};

// Answers nothing by itself: keeps the open requests for the test.
class Held {
 public:
  Load::Begin Begin() {
    return [this](uint64_t /*index*/, Load::Finished finished) {
      const std::lock_guard lock(mutex_);
      ++begun_;
      open_.push_back(std::move(finished));
    };
  }
  // Waits until a number of requests is open.
  void Await(size_t open) {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (open_.size() >= open) return;
      }
      std::this_thread::yield();
    }
  }
  void EndOne(const Answer& answer) {
    Load::Finished finished;
    {
      const std::lock_guard lock(mutex_);
      finished = std::move(open_.back());
      open_.pop_back();
    }
    finished(answer);
  }
  void EndAll() {
    while (open() > 0) EndOne({});
  }
  size_t open() {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }
  uint64_t begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::vector<Load::Finished> open_;
  uint64_t begun_ = 0;
};

TEST(Load, ClosedLoadKeepsRequestsInFlight) {
  Held held;
  Load load({.duration = kLong, .in_flight = 3, .rate = 0}, held.Begin());
  load.Start();
  held.Await(3);
  EXPECT_EQ(held.begun(), 3U);
  held.EndOne({});
  // The end itself has begun the next request.
  EXPECT_EQ(held.open(), 3U);
  EXPECT_EQ(held.begun(), 4U);
  load.Stop();
  held.EndAll();
  EXPECT_EQ(held.begun(), 4U);
  ASSERT_TRUE(load.WaitUntilIdle(kLong));
  const LoadResult result = load.result();
  EXPECT_EQ(result.begun, 4U);
  EXPECT_EQ(result.answered, 4U);
  EXPECT_EQ(result.unsent, 0U);
  EXPECT_EQ(result.latency.count(), 4U);
}

TEST(Load, StopsAfterItsDuration) {
  Held held;
  Load load({.duration = milliseconds(20), .in_flight = 1, .rate = 0},
            held.Begin());
  load.Start();
  ASSERT_TRUE(load.WaitUntilStopped(kLong));
  held.EndAll();
  EXPECT_TRUE(load.WaitUntilIdle(kLong));
  // None if the machine was too busy.
  EXPECT_LE(load.result().begun, 1U);
}

TEST(Load, CountsErrorsByReasonAndMeasuresOnlyAnswers) {
  Held held;
  Load load({.duration = kLong, .in_flight = 1, .rate = 0}, held.Begin());
  load.Start();
  held.Await(1);
  held.EndOne({.status = absl::ResourceExhaustedError("full")});
  held.EndOne({.status = absl::AbortedError("x"), .reason = "FAILED"});
  held.EndOne({.status = absl::AbortedError("y"), .reason = "FAILED"});
  load.Stop();
  held.EndOne({});
  ASSERT_TRUE(load.WaitUntilIdle(kLong));
  const LoadResult result = load.result();
  EXPECT_THAT(result.errors,
              ElementsAre(Pair("FAILED", 2U), Pair("RESOURCE_EXHAUSTED", 1U)));
  EXPECT_EQ(result.begun, 4U);
  EXPECT_EQ(result.answered, 1U);
  EXPECT_EQ(result.latency.count(), 1U);
  EXPECT_TRUE(result.fatal.ok());
}

TEST(Load, StopsWhenTheDaemonCannotBeReached) {
  Held held;
  Load load({.duration = kLong, .in_flight = 2, .rate = 0}, held.Begin());
  load.Start();
  held.Await(2);
  held.EndOne({.status = absl::UnavailableError("gone")});
  EXPECT_TRUE(load.WaitUntilStopped(nanoseconds(0)));
  held.EndAll();
  ASSERT_TRUE(load.WaitUntilIdle(kLong));
  EXPECT_EQ(load.result().begun, 2U);
  EXPECT_EQ(load.result().fatal.message(), "gone");
}

TEST(Load, OpenLoadBeginsAtItsRateHoweverLateTheAnswersAre) {
  Held held;
  Load load({.duration = milliseconds(200), .in_flight = 1000, .rate = 500},
            held.Begin());
  load.Start();
  ASSERT_TRUE(load.WaitUntilStopped(kLong));
  held.EndAll();
  ASSERT_TRUE(load.WaitUntilIdle(kLong));
  const LoadResult result = load.result();
  // Requests are due at 0, 2, ... 198 ms; those of the last moment may be late.
  EXPECT_LE(result.begun, 100U);
  EXPECT_EQ(result.begun + result.unsent, 100U);
}

// A request that waits for another to end is measured from when it was due.
TEST(Load, LatencyOfAnOpenLoadCountsFromWhenARequestWasDue) {
  Held held;
  Load load({.duration = kLong, .in_flight = 1, .rate = 1000}, held.Begin());
  load.Start();
  held.Await(1);
  constexpr auto kStall = milliseconds(30);
  const auto until = std::chrono::steady_clock::now() + kStall;
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  // The first answer is late. The requests after it are answered at once, but
  // requests 1 to 9 were due 20 ms before.
  for (int i = 0; i < 10; ++i) held.EndOne({});
  EXPECT_GE(load.result().latency.min(), milliseconds(20));
  load.Stop();
  const LoadResult stopped = load.result();
  EXPECT_EQ(stopped.begun, 11U);
  EXPECT_GE(stopped.unsent, 18U);
  held.EndAll();
  ASSERT_TRUE(load.WaitUntilIdle(kLong));
}

TEST(Load, ManyThreadsEndRequests) {
  // Each answer comes on a thread of its own.
  std::mutex mutex;
  std::vector<std::thread> threads;
  Load load({.duration = kLong, .in_flight = 8, .rate = 0},
            [&](uint64_t index, Load::Finished finished) {
              const std::lock_guard lock(mutex);
              threads.emplace_back([index, finished = std::move(finished)] {
                finished(index % 2 == 0 ? Answer{}
                                        : Answer{absl::InternalError("odd")});
              });
            });
  load.Start();
  while (load.counts().finished < 200) std::this_thread::yield();
  load.Stop();
  ASSERT_TRUE(load.WaitUntilIdle(kLong));
  const LoadResult result = load.result();
  EXPECT_EQ(result.begun, result.answered + result.errors.at("INTERNAL"));
  EXPECT_EQ(result.latency.count(), result.answered);
  // The thread that began the last request may still be adding the thread of
  // its answer: threads add threads, so the list is empty only after all are
  // joined.
  for (;;) {
    std::thread last;
    {
      const std::lock_guard lock(mutex);
      if (threads.empty()) break;
      last = std::move(threads.back());
      threads.pop_back();
    }
    last.join();
  }
}

}  // namespace
}  // namespace actord::client::bench
