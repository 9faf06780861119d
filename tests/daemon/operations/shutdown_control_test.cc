#include "daemon/operations/shutdown_control.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace actord::daemon {
namespace {

using runtime::ShutdownMode;
using runtime::ShutdownReport;

constexpr absl::Duration kLong = absl::Hours(1);

ShutdownReport NothingSoFar() { return {}; }

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
        kLong, NothingSoFar);
    EXPECT_FALSE(result.stuck);
    EXPECT_EQ(result.report.forced, 1u);
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
      kLong, NothingSoFar);
  EXPECT_FALSE(result.stuck);
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
      kLong, NothingSoFar);
  impatient.join();
  EXPECT_FALSE(result.stuck);
  EXPECT_TRUE(result.now);
  EXPECT_EQ(result.report.forced, 5u);
}

TEST(ShutdownControl, GivesUpOnWhatDoesNotReturn) {
  for (const ShutdownMode mode : {ShutdownMode::kDrain, ShutdownMode::kNow}) {
    absl::Notification release;
    std::vector<uint64_t> answers;
    ShutdownControl control;
    control.Request(mode, absl::ZeroDuration(), [&](const ShutdownReport& r) {
      answers.push_back(r.forced);
    });
    const auto result = control.Carry(
        [&](ShutdownMode, absl::Duration) {
          release.WaitForNotification();
          return ShutdownReport{};
        },
        absl::Milliseconds(1),
        [] { return ShutdownReport{.ended = 1, .forced = 2}; });
    EXPECT_TRUE(result.stuck);
    EXPECT_EQ(result.report.ended, 1u);
    EXPECT_EQ(answers, std::vector<uint64_t>{2}) << "who waits is told";
    release.Notify();  // the destructor waits for it
  }
}

}  // namespace
}  // namespace actord::daemon
