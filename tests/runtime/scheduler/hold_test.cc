#include "runtime/scheduler/hold.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/process/process.h"
#include "runtime/scheduler/scheduler.h"

namespace actord::runtime {
namespace {

class HoldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Hold::CanTake());
    hold_.Give(queue_);
  }

  uint64_t Number() {
    return hold_.CallUnderWay().value_or(Hold::PluginCall{}).number;
  }

  WorkerQueue queue_{0, 0};
  WorkerQueue other_{1, 0};
  Process process_;
  Hold hold_;
};

TEST_F(HoldTest, ShowsTheCallThatIsUnderWay) {
  EXPECT_FALSE(hold_.CallUnderWay());
  hold_.Enter(process_, "Step");
  const auto call = hold_.CallUnderWay();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->process, &process_);
  EXPECT_STREQ(call->name, "Step");
  hold_.Leave();
  EXPECT_FALSE(hold_.CallUnderWay());
  hold_.Enter(process_, "Step");
  EXPECT_NE(Number(), call->number);
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), &queue_);
}

TEST_F(HoldTest, LosesItsWorkerWithinACall) {
  hold_.Enter(process_, "Step");
  EXPECT_TRUE(hold_.TryTake(queue_, Number()));
  // Only once.
  EXPECT_FALSE(hold_.TryTake(queue_, Number()));
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), nullptr);
  EXPECT_EQ(&hold_.last_queue(), &queue_);
  // Calls go on without a worker.
  hold_.Enter(process_, "Close");
  EXPECT_FALSE(hold_.TryTake(queue_, Number()));
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), nullptr);
}

TEST_F(HoldTest, KeepsItsWorkerBetweenCallsAndInLaterOnes) {
  hold_.Enter(process_, "Step");
  const uint64_t number = Number();
  hold_.Leave();
  EXPECT_FALSE(hold_.TryTake(queue_, number));
  hold_.Enter(process_, "Step");
  EXPECT_FALSE(hold_.TryTake(queue_, number));
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), &queue_);
}

TEST_F(HoldTest, KeepsAnotherWorkerThanTheOneThatIsWanted) {
  hold_.Enter(process_, "Step");
  EXPECT_FALSE(hold_.TryTake(other_, Number()));
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), &queue_);
}

TEST_F(HoldTest, HolderGetsAWorkerAgain) {
  hold_.Enter(process_, "Step");
  ASSERT_TRUE(hold_.TryTake(queue_, Number()));
  hold_.Leave();
  hold_.Give(other_);
  EXPECT_EQ(hold_.queue(), &other_);
  EXPECT_EQ(other_.holder, &hold_);
  hold_.Enter(process_, "Step");
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), &other_);
  hold_.Enter(process_, "Step");
  EXPECT_TRUE(hold_.TryTake(other_, Number()));
  hold_.Leave();
  EXPECT_EQ(hold_.queue(), nullptr);
}

TEST_F(HoldTest, GivesItsWorkerUp) {
  EXPECT_EQ(hold_.GiveUp(), &queue_);
  EXPECT_EQ(hold_.queue(), nullptr);
  hold_.Enter(process_, "Step");
  EXPECT_FALSE(hold_.TryTake(queue_, Number()));
  hold_.Leave();
}

// Two threads run, and a third takes the worker from either and gives it to the
// other. The worker's data is plain memory: a thread that uses it beside the
// holder is caught by ThreadSanitizer, or miscounts.
TEST(HoldStress, AWorkerHasOneThreadAtATime) {
  ASSERT_TRUE(Hold::CanTake());
  constexpr uint64_t kTurns = 100'000;
  struct Runner {
    Hold hold;
    std::atomic<bool> has_worker{false};
  };
  WorkerQueue queue{0, 0};
  Process process;
  uint64_t turns = 0;  // the worker's
  Runner runners[2];
  std::atomic<bool> over{false};
  std::atomic<uint64_t> taken{0};

  const auto run = [&](Runner& runner) {
    while (!over) {
      if (!runner.has_worker.load(std::memory_order_acquire)) continue;
      while (runner.hold.queue() != nullptr) {
        if (++turns == kTurns) over = true;
        if (over) return;
        runner.hold.Enter(process, "Step");
        FailPoint();
        runner.hold.Leave();
      }
      runner.has_worker.store(false, std::memory_order_release);
    }
  };
  runners[0].hold.Give(queue);
  runners[0].has_worker = true;
  std::thread taker([&] {
    while (!over) {
      for (int i = 0; i < 2; ++i) {
        const auto call = runners[i].hold.CallUnderWay();
        Runner& spare = runners[1 - i];
        if (!call || spare.has_worker.load(std::memory_order_acquire)) continue;
        if (!runners[i].hold.TryTake(queue, call->number)) continue;
        ++taken;
        spare.hold.Give(queue);
        spare.has_worker.store(true, std::memory_order_release);
      }
    }
  });
  std::thread first(run, std::ref(runners[0]));
  std::thread second(run, std::ref(runners[1]));
  taker.join();
  first.join();
  second.join();
  EXPECT_GE(turns, kTurns);
  EXPECT_LE(turns, kTurns + 1);
  RecordProperty("taken", static_cast<int>(taken));
}

}  // namespace
}  // namespace actord::runtime
