// How long starts and ends are recorded after the last reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "tests/runtime/actors/lifecycle_fixture.h"

namespace actord::runtime {
namespace {

using LifecycleRetention = LifecycleLogTest;

TEST_F(LifecycleRetention, RecordingGoesOnForAWhileAfterTheLastReader) {
  RuntimeOptions options;
  options.watch_retention = absl::Seconds(60);
  Start(options);
  auto reader = std::make_unique<LogReader>(log());
  Run(1);
  EXPECT_EQ(reader->Read().events.size(), 2u);
  const uint64_t cursor = reader->cursor;
  reader.reset();
  core_->clock.manual.AdvanceNs(59 * kSecond);
  Run(1);
  {
    LogReader again(log());
    again.cursor = cursor;
    EXPECT_EQ(again.Read().events.size(), 2u);
  }
  // Since that one has left, too.
  core_->clock.manual.AdvanceNs(59 * kSecond);
  Run(1);
  EXPECT_EQ(Stats().watch_events_kept, 6u);
  core_->clock.manual.AdvanceNs(kSecond);
  Run(2);
  EXPECT_EQ(Stats().watch_events_kept, 0u);
  EXPECT_EQ(Stats().watch_events, 6u);
  LogReader late(log());
  Run(1);
  // Nobody knows what there was meanwhile, also not of a cursor at the end.
  for (const uint64_t stale : {cursor, uint64_t{7}}) {
    late.cursor = stale;
    const LifecycleLog::Reading reading = late.Read();
    EXPECT_TRUE(reading.lost);
    EXPECT_FALSE(reading.known);
  }
  late.cursor = late.Read().oldest;
  EXPECT_EQ(late.Read().events.size(), 2u);
}

TEST_F(LifecycleRetention, WithoutARetentionEndsWithTheLastReader) {
  RuntimeOptions options;
  options.watch_retention = absl::ZeroDuration();
  Start(options);
  {
    LogReader reader(log());
    Run(1);
  }
  EXPECT_EQ(Stats().watch_events_kept, 0u);
  Run(1);
  EXPECT_EQ(Stats().watch_events, 2u);
}

TEST_F(LifecycleRetention, ItsMemoryGoesAlsoIfNothingHappensAnyMore) {
  RuntimeOptions options;
  options.watch_retention = absl::Seconds(60);
  Start(options);
  {
    LogReader reader(log());
    Run(1);
  }
  EXPECT_EQ(Stats().watch_events_kept, 2u);
  core_->clock.manual.AdvanceNs(60 * kSecond);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Stats().watch_events_kept != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST_F(LifecycleRetention, AShorterOneHoldsAtOnce) {
  RuntimeOptions options;
  options.watch_retention = absl::InfiniteDuration();
  Start(options);
  {
    LogReader reader(log());
    Run(1);
  }
  // Its thread waits for nothing now.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(Stats().watch_events_kept, 2u);
  Limits limits = core_->core->limits.Get();
  limits.watch_retention = absl::ZeroDuration();
  ASSERT_TRUE(core_->core->SetLimits(limits).ok());
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Stats().watch_events_kept != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace actord::runtime
