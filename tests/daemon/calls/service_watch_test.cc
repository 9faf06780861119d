// Tests WatchProcesses over a connection that is read slowly on purpose.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

// The set of processes that a client derives from the responses by the rules of
// watch.proto.
struct Seen {
  void Add(const v1::WatchProcessesResponse& response) {
    missed += response.has_missed();
    if (response.snapshot().first()) {
      ++snapshots;
      live.clear();
    }
    complete = complete || response.snapshot().last();
    for (const v1::Process& process : response.snapshot().processes()) {
      EXPECT_EQ(ended.count(process.pid()), 0u) << "ended before this page";
      live.insert(process.pid());
    }
    for (const v1::ProcessEvent& event : response.events().events()) {
      between_pages += !complete;
      live.insert(event.started().pid());
      if (!event.has_ended()) continue;
      ended.insert(event.ended().pid());
      live.erase(event.ended().pid());
    }
    live.erase("");
  }

  std::set<std::string> live;
  std::set<std::string> ended;
  int missed = 0;
  int snapshots = 0;
  int between_pages = 0;  // events between pages of the snapshot
  bool complete = false;
};

// A connection that buffers as little unread data as possible.
std::unique_ptr<v1::ActorService::Stub> ConnectNarrowly(
    const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return v1::ActorService::NewStub(grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments));
}

// The snapshot takes longer than the log reaches back. The log has to hold the
// events that happen during one page only.
TEST(ServiceWatch, SnapshotCompletesAlthoughTheLogForgetsItsBeginning) {
  constexpr int kProcesses = 10'000;
  constexpr int kEndsAtATime = 40;
  Config config = ServedDaemon::Defaults();
  config.runtime.watch_max_events = 200;
  ServedDaemon daemon(config);
  std::vector<std::string> pids;
  for (int i = 0; i < kProcesses; ++i) pids.push_back(daemon.Submit("counter"));
  const auto stub = ConnectNarrowly(daemon.daemon().addresses()[0]);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 4 * kPatience);
  const auto stream = stub->WatchProcesses(&context, {});
  Seen seen;
  v1::WatchProcessesResponse response;
  while (!seen.complete && stream->Read(&response)) {
    seen.Add(response);
    ASSERT_EQ(seen.missed, 0) << "behind " << seen.live.size() << " processes";
    // End processes at both ends of the table: some that were reported already,
    // and some that were not.
    for (int i = 0; i < kEndsAtATime; ++i) {
      const size_t at = i % 2 == 0 ? 0 : pids.size() - 1;
      grpc::ClientContext terminating;
      v1::TerminateRequest request;
      request.set_pid(pids[at]);
      v1::TerminateResponse terminated;
      ASSERT_TRUE(
          daemon.stub().Terminate(&terminating, request, &terminated).ok());
      daemon.Await(pids[at]);
      pids.erase(pids.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  ASSERT_TRUE(seen.complete);
  EXPECT_GT(seen.between_pages, 200) << "it has read too fast";
  const std::set<std::string> live(pids.begin(), pids.end());
  while (seen.live != live && stream->Read(&response)) seen.Add(response);
  EXPECT_EQ(seen.live, live);
  EXPECT_EQ(seen.snapshots, 1);
  EXPECT_EQ(seen.missed, 0);
  context.TryCancel();
  while (stream->Read(&response)) {
  }
  stream->Finish();
}

// A response of a watch is limited in bytes too, because names may be long.
TEST(ServiceWatch, PageOfASnapshotIsLimitedInBytes) {
  constexpr size_t kProcesses = 990;  // below the count limit of one page
  constexpr size_t kPageBytes = size_t{256} << 10;
  Config config = ServedDaemon::Defaults();
  config.plugins.push_back(ACTORD_TEST_PROBE);
  ServedDaemon daemon(config);
  const std::string type(128, 'v');
  std::set<std::string> pids;
  while (pids.size() < kProcesses) pids.insert(daemon.Submit(type));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const auto stream = daemon.stub().WatchProcesses(&context, {});
  Seen seen;
  size_t told = 0;
  v1::WatchProcessesResponse response;
  while (!seen.complete && stream->Read(&response)) {
    // 4,096: the fields of a page beside its processes.
    EXPECT_LE(response.snapshot().ByteSizeLong(), kPageBytes + 4096);
    told += static_cast<size_t>(response.snapshot().processes_size());
    seen.Add(response);
  }
  EXPECT_EQ(seen.live, pids);
  EXPECT_EQ(told, kProcesses) << "each once";
  context.TryCancel();
  while (stream->Read(&response)) {
  }
  stream->Finish();
}

TEST(ServiceWatch, RefusesAWatchAboveTheLimitUntilAnotherEnds) {
  Config config = ServedDaemon::Defaults();
  config.runtime.max_watches = 2;
  ServedDaemon daemon(config);
  struct Watch {
    explicit Watch(ServedDaemon& daemon)
        : stream(daemon.stub().WatchProcesses(&context, {})),
          begins(stream->Read(&response)) {}
    grpc::Status End() {
      context.TryCancel();
      while (stream->Read(&response)) {
      }
      return stream->Finish();
    }
    grpc::ClientContext context;
    v1::WatchProcessesResponse response;
    std::unique_ptr<grpc::ClientReader<v1::WatchProcessesResponse>> stream;
    bool begins;
  };
  Watch first(daemon);
  Watch second(daemon);
  EXPECT_TRUE(first.begins && second.begins);
  Watch third(daemon);
  EXPECT_FALSE(third.begins);
  const grpc::Status refusal = third.stream->Finish();
  EXPECT_EQ(refusal.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(refusal), "WATCH_LIMIT");
  const auto counters = [&daemon] {
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    EXPECT_TRUE(daemon.stub().GetStatus(&context, {}, &response).ok());
    EXPECT_EQ(response.limits().max_watches(), 2u);
    return response.counters();
  };
  EXPECT_EQ(counters().watches_open(), 2u);
  EXPECT_EQ(counters().watch_limit_total(), 1u);
  first.End();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (counters().watches_open() != 1) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  Watch fourth(daemon);
  EXPECT_TRUE(fourth.begins);
  fourth.End();
  second.End();
}

}  // namespace
}  // namespace actord::daemon
