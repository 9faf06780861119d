#include "daemon/admin/heartbeat.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

class HeartbeatTest : public ::testing::Test {
 protected:
  void Look(int times) {
    for (int i = 0; i < times; ++i) heartbeat_.Look();
  }

  Heartbeat::Beat beat_;
  Heartbeat heartbeat_{[this] { return beat_; }};
};

TEST_F(HeartbeatTest, IdleSchedulerIsWell) {
  Look(3 * Heartbeat::kStillLooks);
  EXPECT_EQ(heartbeat_.Problem(), "");
}

TEST_F(HeartbeatTest, ReadyProcessesWithoutATurnAreAProblem) {
  beat_ = {.turns = 5, .has_ready = true};
  Look(Heartbeat::kStillLooks);  // the first of them sees the five turns
  EXPECT_EQ(heartbeat_.Problem(), "");
  Look(1);
  EXPECT_NE(heartbeat_.Problem().find("no process has had a turn for 10 s"),
            std::string::npos)
      << heartbeat_.Problem();
}

TEST_F(HeartbeatTest, OneTurnEndsTheProblem) {
  beat_.has_ready = true;
  Look(2 * Heartbeat::kStillLooks);
  ASSERT_NE(heartbeat_.Problem(), "");
  ++beat_.turns;
  Look(1);
  EXPECT_EQ(heartbeat_.Problem(), "");
}

TEST_F(HeartbeatTest, TurnsBetweenTheLooksAreEnough) {
  beat_.has_ready = true;
  for (int i = 0; i < 3 * Heartbeat::kStillLooks; ++i) {
    ++beat_.turns;
    Look(1);
  }
  EXPECT_EQ(heartbeat_.Problem(), "");
}

}  // namespace
}  // namespace actord::daemon
