// Tests a reload of the configuration while the daemon serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Limits LimitsOf(ServedDaemon& daemon) {
  grpc::ClientContext context;
  v1::GetStatusResponse response;
  EXPECT_TRUE(daemon.stub().GetStatus(&context, {}, &response).ok());
  return response.limits();
}

grpc::Status SubmitEcho(ServedDaemon& daemon, size_t bytes) {
  grpc::ClientContext context;
  v1::SubmitRequest request;
  request.set_process_type("echo");
  request.mutable_input()->set_data(std::string(bytes, 'x'));
  v1::SubmitResponse response;
  return daemon.stub().Submit(&context, request, &response);
}

// The lines that the daemon logs while `act` runs.
template <typename Act>
std::string Logged(ServedDaemon& daemon, Act act) {
  const absl::Duration patience = absl::FromChrono(kPatience);
  daemon.logger().Flush(patience);
  ::testing::internal::CaptureStderr();
  act();
  daemon.logger().Flush(patience);
  return ::testing::internal::GetCapturedStderr();
}

Config WithInfo() {
  Config config = ServedDaemon::Defaults();
  config.log_level = runtime::LogLevel::kInfo;
  return config;
}

TEST(Reload, AppliesLimitsAndLogsWhich) {
  Config config = WithInfo();
  ServedDaemon daemon(config);
  EXPECT_TRUE(SubmitEcho(daemon, 2000).ok());
  config.runtime.max_payload_bytes = 1000;
  config.runtime.max_processes = 77;
  config.runtime.result_ttl = absl::Seconds(3);
  const std::string log =
      Logged(daemon, [&] { daemon.daemon().Reload(config); });
  EXPECT_THAT(log, HasSubstr("configuration reloaded: limits.max_processes = "
                             "77, limits.max_payload_bytes = \"1000\", "
                             "results.ttl = \"3s\""));
  EXPECT_THAT(log, Not(HasSubstr("restart")));
  const grpc::Status refused = SubmitEcho(daemon, 1001);
  EXPECT_EQ(ReasonIn(refused), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(FieldIn(refused), "input.data");
  const v1::Limits limits = LimitsOf(daemon);
  EXPECT_EQ(limits.max_payload_bytes(), 1000u);
  EXPECT_EQ(limits.max_processes(), 77u);
  EXPECT_EQ(limits.result_retention().seconds(), 3);

  EXPECT_THAT(Logged(daemon, [&] { daemon.daemon().Reload(config); }),
              HasSubstr("configuration reloaded: nothing has changed"));
  config.runtime.max_payload_bytes = 3 << 20;
  daemon.daemon().Reload(config);
  EXPECT_TRUE(SubmitEcho(daemon, 3 << 20).ok());
}

TEST(Reload, NamesSettingsThatNeedARestart) {
  Config config = WithInfo();
  ServedDaemon daemon(config);
  config.runtime.max_yields = 5;
  config.runtime.blocking_queue = 3;
  config.listen = {"127.0.0.1:1"};
  for (int i = 0; i < 2; ++i) {
    const std::string log =
        Logged(daemon, [&] { daemon.daemon().Reload(config); });
    EXPECT_THAT(log, HasSubstr("restart the daemon to apply: server.listen = "
                               "[\"127.0.0.1:1\"], "
                               "scheduler.blocking_queue = 3"));
  }
  EXPECT_EQ(LimitsOf(daemon).max_yields_per_process(), 5u);
}

// The size of a request is fixed when the server starts.
TEST(Reload, CutsThePayloadLimitToTheSizeOfARequest) {
  Config config = WithInfo();
  config.runtime.max_payload_bytes = 1 << 20;
  ServedDaemon daemon(config);
  config.runtime.max_payload_bytes = 8 << 20;
  const std::string log =
      Logged(daemon, [&] { daemon.daemon().Reload(config); });
  EXPECT_THAT(log, HasSubstr("limits.max_payload_bytes is 5MiB until a "
                             "restart: requests are too small for 8MiB"));
  EXPECT_EQ(LimitsOf(daemon).max_payload_bytes(), 5u << 20);
  EXPECT_TRUE(SubmitEcho(daemon, 5 << 20).ok());
  EXPECT_EQ(ReasonIn(SubmitEcho(daemon, (5 << 20) + 1)), "PAYLOAD_TOO_LARGE");
}

TEST(Reload, LimitsOutOfRangeChangeNothing) {
  Config config = WithInfo();
  ServedDaemon daemon(config);
  config.runtime.max_yields = 5;
  config.runtime.max_processes = 0;
  config.log_level = runtime::LogLevel::kError;
  EXPECT_THAT(Logged(daemon, [&] { daemon.daemon().Reload(config); }),
              HasSubstr("configuration not reloaded: max_processes is 0"));
  EXPECT_EQ(LimitsOf(daemon).max_yields_per_process(), 1024u);
  EXPECT_THAT(Logged(daemon, [&] { daemon.daemon().Reload(WithInfo()); }),
              HasSubstr("configuration reloaded: nothing has changed"));
}

TEST(Reload, LogsANewLevelWhetherRaisedOrLowered) {
  const Config config = WithInfo();
  Config quiet = config;
  quiet.log_level = runtime::LogLevel::kError;
  ServedDaemon daemon(config);
  EXPECT_THAT(Logged(daemon, [&] { daemon.daemon().Reload(quiet); }),
              HasSubstr("configuration reloaded: log.level = \"error\""));
  EXPECT_EQ(Logged(daemon, [&] { daemon.daemon().Reload(quiet); }), "");
  EXPECT_THAT(Logged(daemon, [&] { daemon.daemon().Reload(config); }),
              HasSubstr("configuration reloaded: log.level = \"info\""));
}

}  // namespace
}  // namespace actord::daemon
