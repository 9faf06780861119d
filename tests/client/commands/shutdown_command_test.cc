#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using testing::HasSubstr;

using ShutdownCommand = Commands;

TEST_F(ShutdownCommand, SendsModeAndDeadline) {
  const CliResult result = Run({"shutdown", "--deadline", "1m30s"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_EQ(result.out, "ended 12, forced 3\n");
  const v1::ShutdownRequest drain = daemon_.log().shutdowns.at(0);
  EXPECT_EQ(drain.mode(), v1::ShutdownRequest::MODE_DRAIN);
  EXPECT_EQ(drain.deadline().seconds(), 90);
  Run({"shutdown", "--mode", "now"});
  const v1::ShutdownRequest now = daemon_.log().shutdowns.at(1);
  EXPECT_EQ(now.mode(), v1::ShutdownRequest::MODE_NOW);
  EXPECT_FALSE(now.has_deadline());
}

TEST_F(ShutdownCommand, FailsIfDurableProcessesHaveNotEnded) {
  const CliResult result = Run({"shutdown", "--end-durable"});
  EXPECT_TRUE(daemon_.log().shutdowns.at(0).end_durable());
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  EXPECT_EQ(result.out, "ended 12, forced 3, kept 2 durable\n");
  EXPECT_THAT(result.err, HasSubstr("2 durable processes have not ended"));
}

TEST_F(ShutdownCommand, WaitsForTheExit) {
  daemon_.SetServing(false);
  EXPECT_EQ(Run({"shutdown", "--no-wait"}).status, ExitStatus::kDone);
  const CliResult late = Run({"shutdown", "--timeout", "2s"});
  EXPECT_EQ(late.status, ExitStatus::kDeadline);
  EXPECT_EQ(late.out, "ended 12, forced 3\n");
  EXPECT_THAT(late.err, HasSubstr("the daemon has not exited within"));
  EXPECT_THAT(late.err, HasSubstr("still takes connections"));
  // Another daemon serves at the address.
  daemon_.SetServing(true);
  EXPECT_EQ(Run({"shutdown"}).status, ExitStatus::kDone);
}

}  // namespace
}  // namespace actord::client
