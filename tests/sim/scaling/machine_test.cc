// The costs of operations on the simulated machine.
#include "tests/sim/scaling/machine.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "runtime/system/mutex.h"

namespace actord::sim {
namespace {

using runtime::Mutex;
using runtime::MutexLock;
using runtime::WillChange;
using runtime::WillRead;
using runtime::WillWrite;

class MachineTest : public ::testing::Test {
 protected:
  // Runs the functions at the same time; returns how long each took.
  std::vector<uint64_t> TimesOf(
      const std::vector<std::function<void()>>& threads) {
    std::vector<uint64_t> times(threads.size());
    machine_.Run([&] {
      for (size_t i = 0; i < threads.size(); ++i) {
        machine_.Start([&, i, began = machine_.time_ns()] {
          threads[i]();
          times[i] = machine_.time_ns() - began;
        });
      }
    });
    return times;
  }

  alignas(64) char line_[64];
  Mutex mutex_;
  Machine machine_{{}};
};

TEST_F(MachineTest, ALineIsFetchedOnceAndThenOnesOwn) {
  EXPECT_EQ(TimesOf({[&] {
              WillWrite(&line_[0]);
              WillRead(&line_[8]);
              WillChange(&line_[63]);
            }})[0],
            60u + 1 + 5);
}

TEST_F(MachineTest, ThreadThatChangesALineTakesItFromAllOthers) {
  const auto change = [&] { WillChange(line_); };
  const auto times = TimesOf({change, change, change});
  // One after the other.
  EXPECT_EQ(times, (std::vector<uint64_t>{60, 120, 180}));
}

TEST_F(MachineTest, SeveralReadALineAtTheSameTime) {
  const auto read = [&] {
    machine_.Work(100);
    WillRead(line_);
    machine_.Work(100);
    WillRead(line_);
  };
  const auto times = TimesOf({[&] { WillWrite(line_); }, read, read});
  EXPECT_EQ(times, (std::vector<uint64_t>{60, 261, 261}));
}

TEST_F(MachineTest, AMutexIsHadOneAfterTheOther) {
  const auto locked = [&] {
    const MutexLock lock(mutex_);
    machine_.Work(500);
  };
  const auto times = TimesOf({locked, locked});
  EXPECT_GE(times[0], 560u);
  EXPECT_GE(times[1], times[0] + 560);
  EXPECT_LT(times[1], times[0] + 1000);
  EXPECT_EQ(machine_.wakes(), 0u);
}

TEST_F(MachineTest, LongWaitForAMutexSleepsAndIsWoken) {
  const auto locked = [&] {
    const MutexLock lock(mutex_);
    machine_.Work(10'000);
  };
  const auto times = TimesOf({locked, locked});
  EXPECT_EQ(machine_.wakes(), 1u);
  EXPECT_GE(times[0], 12'000u) << "with the call that wakes";
  EXPECT_GE(times[1], 24'000u) << "with the time to wake up";
}

TEST_F(MachineTest, ASleepEndsByAWakeOrByItsTime) {
  bool in_time = false;
  bool in_time_too = true;
  const auto times =
      TimesOf({[&] { in_time = machine_.Wait(&line_, 100'000); },
               [&] { in_time_too = machine_.Wait(&mutex_, 5'000); },
               [&] {
                 machine_.Sleep(1'000);
                 machine_.Wake(&line_);
               }});
  EXPECT_TRUE(in_time);
  EXPECT_FALSE(in_time_too);
  EXPECT_EQ(times, (std::vector<uint64_t>{5'000, 5'000, 3'000}));
}

}  // namespace
}  // namespace actord::sim
