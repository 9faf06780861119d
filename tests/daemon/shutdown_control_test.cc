#include "daemon/shutdown_control.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace actord::daemon {
namespace {

using runtime::ShutdownMode;
using runtime::ShutdownReport;

constexpr absl::Duration kLong = absl::Hours(1);

TEST(ShutdownControl, CarriesOutWhatWasRequested) {
  for (const ShutdownMode mode : {ShutdownMode::kDrain, ShutdownMode::kNow}) {
    ShutdownControl control;
    std::vector<uint64_t> answers;
    control.Request(mode, absl::Seconds(3), [&](const ShutdownReport& r) {
      answers.push_back(r.ended);
    });
    control.WaitForRequest();
    const auto result = control.Carry(
        [&](ShutdownMode asked, absl::Duration timeout) {
          EXPECT_EQ(asked, mode);
          if (mode == ShutdownMode::kDrain) {
            EXPECT_EQ(timeout, absl::Seconds(3));
          }
          return ShutdownReport{.ended = 7, .forced = 1};
        },
        kLong);
    ASSERT_TRUE(result.report.has_value());
    EXPECT_EQ(result.report->forced, 1u);
    EXPECT_EQ(result.now, mode == ShutdownMode::kNow);
    EXPECT_EQ(answers, std::vector<uint64_t>{7});
  }
}

TEST(ShutdownControl, LaterRequestsJoinAndTheFirstTimeoutCounts) {
  ShutdownControl control;
  int answers = 0;
  const auto count = [&](const ShutdownReport&) { ++answers; };
  control.Request(ShutdownMode::kDrain, absl::Seconds(3), count);
  control.Request(ShutdownMode::kDrain, absl::Seconds(9), count);
  const auto result = control.Carry(
      [&](ShutdownMode, absl::Duration timeout) {
        EXPECT_EQ(timeout, absl::Seconds(3));
        return ShutdownReport{};
      },
      kLong);
  EXPECT_TRUE(result.report.has_value());
  EXPECT_EQ(answers, 2);
  control.Request(ShutdownMode::kDrain, kLong, count);
  EXPECT_EQ(answers, 3) << "after the end the answer comes at once";
}

TEST(ShutdownControl, NowHurriesADrain) {
  ShutdownControl control;
  absl::Notification draining;
  absl::Notification hurried;
  control.Request(ShutdownMode::kDrain, absl::InfiniteDuration());
  std::thread impatient([&] {
    draining.WaitForNotification();
    control.Request(ShutdownMode::kNow, absl::ZeroDuration());
  });
  const auto result = control.Carry(
      [&](ShutdownMode mode, absl::Duration) {
        if (mode == ShutdownMode::kNow) {
          hurried.Notify();
        } else {
          draining.Notify();
          hurried.WaitForNotification();
        }
        return ShutdownReport{.ended = 0, .forced = 5};
      },
      kLong);
  impatient.join();
  ASSERT_TRUE(result.report.has_value());
  EXPECT_TRUE(result.now);
  EXPECT_EQ(result.report->forced, 5u);
}

TEST(ShutdownControl, GivesUpOnWhatDoesNotReturn) {
  absl::Notification release;
  int answers = 0;
  ShutdownControl control;
  control.Request(ShutdownMode::kDrain, absl::ZeroDuration(),
                  [&](const ShutdownReport&) { ++answers; });
  const auto result = control.Carry(
      [&](ShutdownMode, absl::Duration) {
        release.WaitForNotification();
        return ShutdownReport{};
      },
      absl::Milliseconds(1));
  EXPECT_FALSE(result.report.has_value());
  EXPECT_EQ(answers, 0);
  release.Notify();  // the destructor waits for it
}

}  // namespace
}  // namespace actord::daemon
