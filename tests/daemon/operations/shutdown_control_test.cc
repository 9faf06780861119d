#include "daemon/operations/shutdown_control.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"

namespace actord::daemon {
namespace {

using runtime::DurableAtEnd;
using runtime::ShutdownMode;
using runtime::ShutdownReport;

constexpr absl::Duration kLong = absl::Hours(1);

// Steps that do nothing; a test replaces the ones that it needs.
ShutdownControl::Steps StepsOf(
    std::function<ShutdownReport(ShutdownMode, absl::Duration)> shutdown) {
  return {.shutdown = [shutdown = std::move(shutdown)](
                          ShutdownMode mode, absl::Duration timeout,
                          DurableAtEnd) { return shutdown(mode, timeout); },
          .hurry = [] { ADD_FAILURE() << "nobody is in a hurry"; },
          .so_far = [] { return ShutdownReport{}; }};
}

class ShutdownControlTest : public ::testing::Test {
 protected:
  // The default `force_timeout` is longer than a passing test takes.
  ShutdownControl& StartWith(absl::Duration force_timeout = kLong) {
    control_ = std::make_unique<ShutdownControl>(force_timeout, deadline_);
    EXPECT_TRUE(control_->Start().ok());
    return *control_;
  }

  ExitDeadline deadline_;
  std::unique_ptr<ShutdownControl> control_;
};

TEST_F(ShutdownControlTest, CarriesOutARequest) {
  for (const ShutdownMode mode : {ShutdownMode::kDrain, ShutdownMode::kNow}) {
    ShutdownControl& control = StartWith();
    std::vector<uint64_t> answers;
    control.Request(mode, absl::Seconds(3), [&](const ShutdownReport& r) {
      answers.push_back(r.ended);
    });
    control.WaitForRequest();
    const auto result =
        control.Carry(StepsOf([&](ShutdownMode asked, absl::Duration timeout) {
          EXPECT_EQ(asked, mode);
          if (mode == ShutdownMode::kDrain) {
            EXPECT_EQ(timeout, absl::Seconds(3));
          }
          return ShutdownReport{.ended = 7, .forced = 1};
        }));
    EXPECT_FALSE(result.stuck);
    EXPECT_EQ(result.report.forced, 1u);
    EXPECT_EQ(result.now, mode == ShutdownMode::kNow);
    EXPECT_EQ(answers, std::vector<uint64_t>{7});
  }
}

TEST_F(ShutdownControlTest, LaterRequestsJoinAndTheFirstTimeoutCounts) {
  ShutdownControl& control = StartWith();
  int answers = 0;
  const auto count = [&](const ShutdownReport&) { ++answers; };
  control.Request(ShutdownMode::kDrain, absl::Seconds(3), count);
  control.Request(ShutdownMode::kDrain, absl::Seconds(9), count);
  const auto result =
      control.Carry(StepsOf([&](ShutdownMode, absl::Duration timeout) {
        EXPECT_EQ(timeout, absl::Seconds(3));
        return ShutdownReport{};
      }));
  EXPECT_FALSE(result.stuck);
  EXPECT_EQ(answers, 2);
  control.Request(ShutdownMode::kDrain, kLong, count);
  EXPECT_EQ(answers, 3) << "after the end the answer comes at once";
}

TEST_F(ShutdownControlTest, FirstRequestDecidesAboutDurableProcesses) {
  for (const auto first : {DurableAtEnd::kKeep, DurableAtEnd::kEnd}) {
    for (const auto second : {DurableAtEnd::kKeep, DurableAtEnd::kEnd}) {
      ShutdownControl& control = StartWith();
      control.Request(ShutdownMode::kDrain, kLong, nullptr, first);
      control.Request(ShutdownMode::kDrain, kLong, nullptr, second);
      ShutdownControl::Steps steps = StepsOf(nullptr);
      steps.shutdown = [&](ShutdownMode, absl::Duration, DurableAtEnd durable) {
        EXPECT_EQ(durable, first);
        return ShutdownReport{.kept = 1};
      };
      EXPECT_EQ(control.Carry(steps).has_kept, first == DurableAtEnd::kEnd);
    }
  }
}

TEST_F(ShutdownControlTest, NowHurriesADrain) {
  ShutdownControl& control = StartWith();
  absl::Notification draining;
  absl::Notification hurried;
  control.Request(ShutdownMode::kDrain, absl::InfiniteDuration());
  std::thread impatient([&] {
    draining.WaitForNotification();
    control.Request(ShutdownMode::kNow, absl::ZeroDuration());
  });
  ShutdownControl::Steps steps = StepsOf([&](ShutdownMode, absl::Duration) {
    draining.Notify();
    hurried.WaitForNotification();
    return ShutdownReport{.ended = 0, .forced = 5};
  });
  steps.hurry = [&] { hurried.Notify(); };
  const auto result = control.Carry(steps);
  impatient.join();
  EXPECT_FALSE(result.stuck);
  EXPECT_TRUE(result.now);
  EXPECT_EQ(result.report.forced, 5u);
}

TEST_F(ShutdownControlTest, GivesUpOnAStepThatDoesNotReturn) {
  for (const ShutdownMode mode : {ShutdownMode::kDrain, ShutdownMode::kNow}) {
    absl::Notification release;
    std::vector<uint64_t> answers;
    ShutdownControl& control = StartWith(absl::Milliseconds(1));
    control.Request(mode, absl::ZeroDuration(), [&](const ShutdownReport& r) {
      answers.push_back(r.forced);
    });
    ShutdownControl::Steps steps = StepsOf([&](ShutdownMode, absl::Duration) {
      release.WaitForNotification();
      return ShutdownReport{};
    });
    steps.so_far = [] { return ShutdownReport{.ended = 1, .forced = 2}; };
    const auto result = control.Carry(steps);
    EXPECT_TRUE(result.stuck);
    EXPECT_EQ(result.report.ended, 1u);
    EXPECT_EQ(answers, std::vector<uint64_t>{2}) << "who waits is told";
    release.Notify();  // the destructor waits for the step
    control_.reset();
  }
}

constexpr absl::Duration kForce = absl::Hours(10);
constexpr absl::Duration kSpare = ShutdownControl::kExitSpare;

// Expects that the deadline is `expected` from now, less the time that has
// passed since it was set.
void ExpectLeft(const ExitDeadline& deadline, absl::Duration expected) {
  EXPECT_LE(deadline.left(), expected);
  EXPECT_GT(deadline.left(), expected - absl::Hours(1));
}

TEST_F(ShutdownControlTest, SetsTheDeadlineOfTheProgram) {
  ShutdownControl& control = StartWith(kForce);
  EXPECT_EQ(deadline_.left(), absl::InfiniteDuration());
  control.Request(ShutdownMode::kDrain, absl::Hours(100));
  ExpectLeft(deadline_, absl::Hours(110) + kSpare);
  control.Request(ShutdownMode::kDrain, absl::Hours(5));
  ExpectLeft(deadline_, absl::Hours(110) + kSpare);
  control.Request(ShutdownMode::kNow, absl::Hours(50));
  ExpectLeft(deadline_, kForce + kSpare);
}

TEST_F(ShutdownControlTest, SetsTheDeadlineForTheRestAfterTheProcesses) {
  ShutdownControl& control = StartWith(kForce);
  control.Request(ShutdownMode::kDrain, absl::InfiniteDuration());
  EXPECT_EQ(deadline_.left(), absl::InfiniteDuration());
  control.Carry(StepsOf([&](ShutdownMode, absl::Duration) {
    EXPECT_EQ(deadline_.left(), absl::InfiniteDuration());
    return ShutdownReport{};
  }));
  ExpectLeft(deadline_, kForce + kSpare);
}

TEST(ExitDeadlineTest, OnlyMovesEarlier) {
  ExitDeadline deadline;
  EXPECT_EQ(deadline.left(), absl::InfiniteDuration());
  deadline.Limit(absl::InfiniteDuration());
  EXPECT_EQ(deadline.left(), absl::InfiniteDuration());
  deadline.Limit(absl::Hours(5));
  ExpectLeft(deadline, absl::Hours(5));
  deadline.Limit(absl::Hours(9));
  ExpectLeft(deadline, absl::Hours(5));
  deadline.Limit(absl::Hours(3));
  ExpectLeft(deadline, absl::Hours(3));
}

TEST(ExitDeadlineTest, ExpiresOnceWhetherItWasSetBeforeOrAfterTheStart) {
  for (const bool before : {true, false}) {
    absl::Notification expired;  // a second Notify would abort
    ExitDeadline deadline;
    if (before) deadline.Limit(absl::ZeroDuration());
    ASSERT_TRUE(deadline.Start([&] { expired.Notify(); }).ok());
    deadline.Limit(absl::Milliseconds(1));
    EXPECT_TRUE(expired.WaitForNotificationWithTimeout(absl::Seconds(30)));
    deadline.Limit(absl::ZeroDuration());
  }
}

TEST(ExitDeadlineTest, DoesNotExpireEarly) {
  ExitDeadline deadline;
  std::atomic<bool> expired{false};
  ASSERT_TRUE(deadline.Start([&] { expired = true; }).ok());
  deadline.Limit(absl::Hours(2));  // wakes the thread of the deadline
  deadline.Limit(absl::Hours(1));
  EXPECT_FALSE(expired);
}

}  // namespace
}  // namespace actord::daemon
