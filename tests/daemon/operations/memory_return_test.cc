#include "daemon/operations/memory_return.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace actord::daemon {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A daemon of numbers: memory is used, free and resident, or free and given
// back.
class MemoryReturnTest : public ::testing::Test {
 protected:
  MemoryReturn Make() {
    return {{.resident_bytes = [this] { return resident_; },
             .steps = [this] { return ++steps_; },
             .free_bytes =
                 [this] {
                   ++asked_;
                   return free_;
                 },
             .is_busy = [this] { return is_busy_; },
             .give_back =
                 [this] {
                   ++given_;
                   resident_ = used_;
                 }},
            logger_};
  }
  void Use(size_t bytes) {
    used_ += bytes;
    free_ -= std::min(free_, bytes);
    resident_ = std::max(resident_, used_);
  }
  void Free(size_t bytes) {
    used_ -= bytes;
    free_ += bytes;
  }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kError};
  size_t used_ = 20 * kMiB;
  size_t free_ = kMiB;
  size_t resident_ = 20 * kMiB;
  uint64_t steps_ = 0;
  bool is_busy_ = false;
  int asked_ = 0;
  int given_ = 0;
};

TEST_F(MemoryReturnTest, GivesBackWhatABurstHasLeftOnce) {
  MemoryReturn memory = Make();
  Use(300 * kMiB);
  EXPECT_EQ(memory.Look(), MemoryReturn::kLookNs);
  EXPECT_EQ(given_, 0);
  Free(300 * kMiB);
  memory.Look();
  EXPECT_EQ(given_, 1);
  EXPECT_EQ(resident_, 20 * kMiB);
  for (int i = 0; i < 10; ++i) memory.Look();
  EXPECT_EQ(given_, 1);
}

TEST_F(MemoryReturnTest, GivesBackAfterEachBurst) {
  MemoryReturn memory = Make();
  for (int burst = 1; burst <= 3; ++burst) {
    Use(100 * kMiB);
    memory.Look();
    Free(100 * kMiB);
    memory.Look();
    EXPECT_EQ(given_, burst);
  }
}

TEST_F(MemoryReturnTest, ABurstBetweenTwoLooksCountsToo) {
  MemoryReturn memory = Make();
  for (int burst = 1; burst <= 3; ++burst) {
    Use(100 * kMiB);
    Free(100 * kMiB);
    memory.Look();
    EXPECT_EQ(given_, burst);
  }
}

// Memory that was in use when memory was given back last.
TEST_F(MemoryReturnTest, GivesBackWhatIsFreedLater) {
  MemoryReturn memory = Make();
  Use(200 * kMiB);
  Free(100 * kMiB);
  memory.Look();
  EXPECT_EQ(given_, 1);
  memory.Look();
  Free(100 * kMiB);
  memory.Look();
  EXPECT_EQ(given_, 2);
  EXPECT_EQ(resident_, 20 * kMiB);
}

TEST_F(MemoryReturnTest, WaitsWhileProcessesAreReady) {
  MemoryReturn memory = Make();
  Use(100 * kMiB);
  Free(100 * kMiB);
  is_busy_ = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(memory.Look(), MemoryReturn::kBusyLookNs);
  }
  EXPECT_EQ(given_, 0);
  is_busy_ = false;
  EXPECT_EQ(memory.Look(), MemoryReturn::kLookNs);
  EXPECT_EQ(given_, 1);
}

TEST_F(MemoryReturnTest, LittleMemoryStays) {
  MemoryReturn memory = Make();
  Use(31 * kMiB);
  Free(31 * kMiB);
  for (int i = 0; i < 3; ++i) memory.Look();
  EXPECT_EQ(given_, 0);
}

TEST_F(MemoryReturnTest, DoesNotAskTheAllocatorWhileNothingHappens) {
  Use(100 * kMiB);
  MemoryReturn memory = Make();
  memory.Look();
  const int asked = asked_;
  for (int i = 0; i < 5; ++i) {
    --steps_;  // undoes the count of the look
    memory.Look();
  }
  EXPECT_EQ(asked_, asked);
}

}  // namespace
}  // namespace actord::daemon
