// Tests the start and the end of a daemon.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

using Health = grpc::health::v1::Health;
using HealthResponse = grpc::health::v1::HealthCheckResponse;

HealthResponse::ServingStatus CheckHealth(ServedDaemon& daemon) {
  const auto stub = Health::NewStub(daemon.channel());
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("actord.v1.ActorService");
  HealthResponse response;
  const grpc::Status status = stub->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.status();
}

std::future<v1::ShutdownResponse> Shutdown(ServedDaemon& daemon,
                                           v1::ShutdownRequest::Mode mode,
                                           absl::Duration deadline) {
  return std::async(std::launch::async, [&daemon, mode, deadline] {
    grpc::ClientContext context;
    v1::ShutdownRequest request;
    request.set_mode(mode);
    request.mutable_deadline()->set_nanos(static_cast<int32_t>(
        absl::ToInt64Nanoseconds(deadline) % 1'000'000'000));
    request.mutable_deadline()->set_seconds(absl::ToInt64Seconds(deadline));
    v1::ShutdownResponse response;
    const grpc::Status status =
        daemon.stub().Shutdown(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  });
}

grpc::Status SubmitEcho(ServedDaemon& daemon) {
  grpc::ClientContext context;
  v1::SubmitRequest request;
  request.set_process_type("echo");
  v1::SubmitResponse response;
  return daemon.stub().Submit(&context, request, &response);
}

v1::GetStatusResponse GetStatus(ServedDaemon& daemon) {
  grpc::ClientContext context;
  v1::GetStatusResponse response;
  const grpc::Status status = daemon.stub().GetStatus(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

void WaitUntilDraining(ServedDaemon& daemon) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (GetStatus(daemon).state() != v1::DAEMON_STATE_DRAINING) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

TEST(DaemonLifecycle, EndsCleanlyAndReportsHowManyProcessesEnded) {
  ServedDaemon daemon;
  EXPECT_EQ(CheckHealth(daemon), HealthResponse::SERVING);
  daemon.Submit("counter");
  daemon.Submit("counter");
  const v1::ShutdownResponse response =
      Shutdown(daemon, v1::ShutdownRequest::MODE_DRAIN, absl::Seconds(30))
          .get();
  EXPECT_EQ(response.ended_count(), 2u);
  EXPECT_EQ(response.forced_count(), 0u);
  EXPECT_EQ(daemon.WaitForExit(), kExitClean);
}

TEST(DaemonLifecycle, DrainKeepsServingLiveProcesses) {
  ServedDaemon daemon;
  const std::string pid = daemon.SubmitStubbornOrder();
  auto outcome = daemon.BeginAwait(pid);
  auto response =
      Shutdown(daemon, v1::ShutdownRequest::MODE_DRAIN, absl::Seconds(30));
  WaitUntilDraining(daemon);
  const grpc::Status refused = SubmitEcho(daemon);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonIn(refused), "DRAINING");
  EXPECT_EQ(CheckHealth(daemon), HealthResponse::NOT_SERVING);
  v1::ListYieldsResponse yields;
  grpc::ClientContext list_context;
  ASSERT_TRUE(daemon.stub().ListYields(&list_context, {}, &yields).ok());
  ASSERT_EQ(yields.yields_size(), 1);
  grpc::ClientContext complete_context;
  v1::CompleteYieldRequest complete;
  complete.set_token(yields.yields(0).token());
  complete.mutable_result()->set_data("paid");
  v1::CompleteYieldResponse completed;
  ASSERT_TRUE(daemon.stub()
                  .CompleteYield(&complete_context, complete, &completed)
                  .ok());
  EXPECT_THAT(outcome.get().result().data(), HasSubstr("charged"));
  EXPECT_EQ(response.get().ended_count(), 1u);
  EXPECT_EQ(daemon.WaitForExit(), kExitClean);
}

TEST(DaemonLifecycle, DrainForcesTheEndAtItsDeadline) {
  ServedDaemon daemon;
  const std::string pid = daemon.SubmitStubbornOrder();
  auto outcome = daemon.BeginAwait(pid);
  const v1::ShutdownResponse response =
      Shutdown(daemon, v1::ShutdownRequest::MODE_DRAIN, absl::Milliseconds(20))
          .get();
  EXPECT_EQ(response.ended_count(), 0u);
  EXPECT_EQ(response.forced_count(), 1u);
  EXPECT_EQ(outcome.get().failure().reason(), v1::FAILURE_REASON_TERMINATED);
  EXPECT_EQ(daemon.WaitForExit(), kExitDrainTimeout);
}

TEST(DaemonLifecycle, NowForcesTheEndAndExitsCleanly) {
  ServedDaemon daemon;
  daemon.SubmitStubbornOrder();
  const v1::ShutdownResponse response =
      Shutdown(daemon, v1::ShutdownRequest::MODE_NOW, absl::ZeroDuration())
          .get();
  EXPECT_EQ(response.forced_count(), 1u);
  EXPECT_EQ(daemon.WaitForExit(), kExitClean);
}

TEST(DaemonLifecycle, NowHurriesADrainAndBothAreAnswered) {
  ServedDaemon daemon;
  daemon.SubmitStubbornOrder();
  auto drain =
      Shutdown(daemon, v1::ShutdownRequest::MODE_DRAIN, absl::Hours(1));
  WaitUntilDraining(daemon);
  auto now =
      Shutdown(daemon, v1::ShutdownRequest::MODE_NOW, absl::ZeroDuration());
  EXPECT_EQ(now.get().forced_count(), 1u);
  EXPECT_EQ(drain.get().forced_count(), 1u);
  EXPECT_EQ(daemon.WaitForExit(), kExitClean);
}

TEST(DaemonLifecycle, HealthWatchesDoNotDelayTheEnd) {
  ServedDaemon daemon;
  const auto stub = Health::NewStub(daemon.channel());
  grpc::ClientContext context;
  const auto watch = stub->Watch(&context, {});
  HealthResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthResponse::SERVING);
  daemon.daemon().RequestShutdown(runtime::ShutdownMode::kDrain);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthResponse::NOT_SERVING);
  EXPECT_EQ(daemon.WaitForExit(), kExitClean);
}

TEST(DaemonLifecycle, SubmissionsDuringTheEndAreAcceptedOrRefused) {
  ServedDaemon daemon;
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::async(std::launch::async, [&daemon] {
      int accepted = 0;
      for (;; ++accepted) {
        const grpc::Status status = SubmitEcho(daemon);
        if (status.ok()) continue;
        // gRPC answers CANCELLED to a call that arrives while the server shuts
        // down.
        EXPECT_TRUE(status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::CANCELLED)
            << status.error_code() << ": " << status.error_message();
        return accepted;
      }
    }));
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (GetStatus(daemon).counters().processes_started_total() <= 100) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  daemon.daemon().RequestShutdown(runtime::ShutdownMode::kDrain);
  EXPECT_EQ(daemon.WaitForExit(), kExitClean);
  for (auto& client : clients) client.wait();
}

TEST(DaemonLifecycle, ServesOnUnixSockets) {
  Config config = ServedDaemon::Defaults();
  const std::string path =
      absl::StrCat(::testing::TempDir(), "actord_", getpid(), ".sock");
  config.listen.push_back("unix:" + path);
  ServedDaemon daemon(config);
  EXPECT_EQ(daemon.daemon().ports().size(), 1u);
  const auto stub = v1::ActorService::NewStub(
      grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GetStatusResponse status;
  EXPECT_TRUE(stub->GetStatus(&context, {}, &status).ok());
}

class FailedStart : public ::testing::Test {
 protected:
  absl::Status Start(const Config& config) {
    Logger logger(config.log_format, config.log_level);
    return Daemon::Start(config, logger).status();
  }
};

TEST_F(FailedStart, TakenPortIsNamed) {
  ServedDaemon first;
  Config config = ServedDaemon::Defaults();
  config.log_level = runtime::LogLevel::kError;
  config.listen = {"127.0.0.1:0", first.daemon().addresses().front()};
  const absl::Status status = Start(config);
  EXPECT_EQ(ExitStatusOf(status), kExitCannotListen);
  EXPECT_THAT(std::string(status.message()),
              ::testing::StartsWith(
                  absl::StrCat("server.listen: cannot listen on ",
                               config.listen[1], ": Address already in use")));
}

TEST_F(FailedStart, BadPluginIsNamed) {
  Config config = ServedDaemon::Defaults();
  config.plugins.push_back("/nowhere/nosuch.so");
  const absl::Status missing = Start(config);
  EXPECT_EQ(ExitStatusOf(missing), kExitBadConfiguration) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/nowhere/nosuch.so"));

  config = ServedDaemon::Defaults();
  config.plugin_dirs = {"/nowhere"};
  const absl::Status directory = Start(config);
  EXPECT_EQ(ExitStatusOf(directory), kExitBadConfiguration) << directory;
  EXPECT_THAT(std::string(directory.message()), HasSubstr("/nowhere"));
}

TEST_F(FailedStart, LeavesNoPortFileOfAnEarlierRun) {
  Config config = ServedDaemon::Defaults();
  config.port_file =
      absl::StrCat(::testing::TempDir(), "actord_", getpid(), ".port");
  std::ofstream(config.port_file) << "1\n";
  config.plugin_dirs = {"/nowhere"};
  EXPECT_FALSE(Start(config).ok());
  EXPECT_FALSE(std::filesystem::exists(config.port_file));
}

}  // namespace
}  // namespace actord::daemon
