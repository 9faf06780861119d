// Tests the watches of the client library.
#include "client/streams/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/calls/error.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/streams/watch_fixture.h"

namespace actord::client {
namespace {

using ::testing::ElementsAre;

class ClientWatch : public ::testing::Test {
 protected:
  // Options whose callbacks note each event.
  ProcessWatchOptions Options() {
    ProcessWatchOptions options;
    options.reconnect_delay = absl::Milliseconds(1);
    options.on_snapshot = [this] { Note("snapshot"); };
    options.on_process = [this](const v1::Process& process) {
      Note("live " + process.pid());
    };
    options.on_snapshot_end = [this] { Note("complete"); };
    options.on_started = [this](const v1::ProcessStarted& started) {
      Note("started " + started.pid());
    };
    options.on_ended = [this](const v1::ProcessEnded& ended) {
      Note("ended " + ended.pid());
    };
    options.on_missed = [this](uint64_t count) {
      Note(absl::StrCat("missed ", count));
    };
    options.on_connected = [this] { Note("connected"); };
    options.on_broken = [this](const absl::Status& why, absl::Duration) {
      Note("broken " + DetailsOf(why).reason);
    };
    return options;
  }
  // Notes an event, and stops the watch at the event `last_`.
  void Note(const std::string& what) {
    told_.push_back(what);
    if (what == last_) stop_.Cancel();
  }
  absl::Status Run(ProcessWatchOptions options, const std::string& last) {
    last_ = last;
    ProcessWatch watch(daemon_.address(), std::move(options));
    absl::Status status = watch.Run(stop_);
    token_ = watch.resume_token();
    return status;
  }

  FakeDaemon daemon_;
  Cancellation stop_;
  std::vector<std::string> told_;
  std::string last_;
  std::string token_;
};

TEST_F(ClientWatch, DeliversEventsInOrderAndResumesAfterABreak) {
  daemon_.watches = {
      {Page("1", true, false, {"a", "b"}), Page("2", false, true, {"c"}),
       Happened("3", {"+d", "-a"})},
      {TokenOnly("4"), Happened("5", {"-d"}), Missed("6", 7),
       Page("7", true, true, {}), Happened("8", {"+e"})}};
  ASSERT_TRUE(Run(Options(), "started e").ok());
  EXPECT_THAT(told_,
              ElementsAre("connected", "snapshot", "live a", "live b", "live c",
                          "complete", "started d", "ended a", "broken DRAINING",
                          "connected", "ended d", "missed 7", "snapshot",
                          "complete", "started e"));
  const auto requests = daemon_.log().watches;
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].resume_token(), "");
  EXPECT_EQ(requests[1].resume_token(), "3");
  EXPECT_EQ(token_, "8");
}

TEST_F(ClientWatch, SendsItsOptions) {
  daemon_.watches = {{TokenOnly("1")}};
  ProcessWatchOptions options = Options();
  options.process_type = "order";
  options.parent_pid = "p-1";
  options.resume_token = "before";
  options.skip_snapshot = true;
  ASSERT_TRUE(Run(std::move(options), "connected").ok());
  const auto requests = daemon_.log().watches;
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].process_type(), "order");
  EXPECT_EQ(requests[0].parent_pid(), "p-1");
  EXPECT_EQ(requests[0].resume_token(), "before");
  EXPECT_TRUE(requests[0].skip_snapshot());
}

TEST_F(ClientWatch, NameOfTheParentIsLookedUpOnce) {
  v1::WatchProcessesResponse first = TokenOnly("1");
  first.set_parent_pid("p-1");
  daemon_.watches = {{first, Happened("2", {"+a"})}, {Happened("3", {"-a"})}};
  ProcessWatchOptions options = Options();
  options.parent_pid = "@tree";
  options.on_parent = [this](const std::string& pid) { Note("of " + pid); };
  ASSERT_TRUE(Run(std::move(options), "ended a").ok());
  EXPECT_THAT(told_, ElementsAre("connected", "of p-1", "started a",
                                 "broken DRAINING", "connected", "ended a"));
  const auto requests = daemon_.log().watches;
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].parent_pid(), "@tree");
  EXPECT_EQ(requests[1].parent_pid(), "p-1");
}

TEST_F(ClientWatch, DeliversNothingAfterAStop) {
  daemon_.watches = {
      {Page("1", true, true, {"a"}), Happened("2", {"+b", "+c", "+d"})}};
  ASSERT_TRUE(Run(Options(), "started c").ok());
  EXPECT_EQ(told_.back(), "started c");
  // The response was not delivered whole, so its token does not count.
  EXPECT_EQ(token_, "1");
}

TEST_F(ClientWatch, PermanentErrorEndsTheWatch) {
  ProcessWatchOptions options = Options();
  options.resume_token = "none";
  const absl::Status status = Run(std::move(options), "");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_RESUME_TOKEN");
  EXPECT_THAT(told_, ElementsAre());
  EXPECT_EQ(token_, "none");
}

TEST_F(ClientWatch, RetriesAnUnreachableDaemonUntilStopped) {
  ProcessWatchOptions options;
  int broken = 0;
  std::vector<absl::Duration> delays;
  options.reconnect_delay = absl::Milliseconds(1);
  options.max_reconnect_delay = absl::Milliseconds(4);
  options.on_broken = [&](const absl::Status& why, absl::Duration delay) {
    EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
    delays.push_back(delay);
    if (++broken == 4) stop_.Cancel();
  };
  ProcessWatch watch("unix:/nonexistent/actord.sock", std::move(options));
  EXPECT_TRUE(watch.Run(stop_).ok());
  EXPECT_THAT(delays,
              ElementsAre(absl::Milliseconds(1), absl::Milliseconds(2),
                          absl::Milliseconds(4), absl::Milliseconds(4)));
}

TEST_F(ClientWatch, CanBeStoppedWithoutEvents) {
  daemon_.watches = {{TokenOnly("1")}};
  std::thread stopping;
  ProcessWatchOptions options;
  options.on_told = [&] { stopping = std::thread([this] { stop_.Cancel(); }); };
  EXPECT_TRUE(Run(std::move(options), "").ok());
  stopping.join();
  EXPECT_EQ(token_, "1");
}

TEST_F(ClientWatch, CanBeStoppedBetweenAttempts) {
  daemon_.watches = {{TokenOnly("1")}, {TokenOnly("2")}};
  std::thread stopping;
  ProcessWatchOptions options;
  options.reconnect_delay = absl::Hours(1);
  options.max_reconnect_delay = absl::Hours(1);
  options.on_broken = [&](const absl::Status&, absl::Duration delay) {
    EXPECT_EQ(delay, absl::Hours(1));
    stopping = std::thread([this] {
      absl::SleepFor(absl::Milliseconds(20));
      stop_.Cancel();
    });
  };
  EXPECT_TRUE(Run(std::move(options), "").ok());
  stopping.join();
}

}  // namespace
}  // namespace actord::client
