// The watch of the limits: what it logs, and how long a limit counts as
// reached.
#include "daemon/limits/limit_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/system/manual_clock.h"

namespace actord::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The lines that a logger has written.
class LogCapture {
 public:
  Logger& logger() { return logger_; }
  // The lines since the last TakeLines.
  std::vector<std::string> Lines() const {
    std::vector<std::string> texts;
    for (const RecentLine& line : Kept()) texts.push_back(line.text);
    return texts;
  }
  std::vector<std::string> TakeLines() {
    std::vector<std::string> texts = Lines();
    for (const RecentLine& line : Kept()) taken_ = line.number;
    return texts;
  }

 private:
  [[nodiscard]] std::vector<RecentLine> Kept() const {
    return logger_.recent().ListAfter(taken_, runtime::LogLevel::kDebug,
                                      RecentLines::kMaxLines);
  }
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
  uint64_t taken_ = 0;
};

class LimitWatchTest : public ::testing::Test {
 protected:
  void Pass(uint64_t seconds) {
    for (uint64_t i = 0; i < seconds; ++i) {
      clock_.AdvanceNs(runtime::kSecond);
      watch_.Look();
    }
  }
  uint64_t FullSince(const std::string& name) {
    for (const LimitWatch::Limit& limit : watch_.Now().limits) {
      if (LimitUseName(limit.use) == name) return limit.full_since_unix_ns;
    }
    ADD_FAILURE() << "no limit " << name;
    return 0;
  }

  LimitSources sources_ = [] {
    LimitSources sources;
    sources.limits.max_processes = 10;
    sources.max_connections = 5;
    return sources;
  }();
  OwnUse own_;
  runtime::ManualClock clock_;
  LogCapture log_;
  LimitWatch watch_{{.read = [this] { return ReadLimitUse(sources_); },
                     .own = [this] { return own_; }},
                    log_.logger(),
                    clock_};
};

TEST_F(LimitWatchTest, NothingIsReachedAtFirst) {
  Pass(100);
  EXPECT_THAT(log_.Lines(), IsEmpty());
  EXPECT_THAT(watch_.Notes(), IsEmpty());
}

TEST_F(LimitWatchTest, LogsOneLineWhenReachedAndOneWhenFree) {
  sources_.of_runtime.processes_live = 9;
  Pass(1);
  EXPECT_THAT(log_.Lines(), IsEmpty());
  sources_.of_runtime.processes_live = 10;
  Pass(1);
  EXPECT_THAT(
      log_.TakeLines(),
      ElementsAre(AllOf(
          HasSubstr("the limit of processes is reached: 10 of 10 processes"),
          HasSubstr("PROCESS_LIMIT"), HasSubstr("limits.max_processes"))));
  EXPECT_THAT(watch_.Notes(), ElementsAre(AllOf(HasSubstr("10 of 10 processes"),
                                                HasSubstr("PROCESS_LIMIT"))));
  sources_.of_runtime.refused_processes = 37;
  Pass(90);
  sources_.of_runtime.processes_live = 4;
  Pass(29);
  EXPECT_THAT(log_.Lines(), IsEmpty());
  EXPECT_NE(FullSince("processes"), 0u);
  Pass(1);
  EXPECT_THAT(log_.TakeLines(),
              ElementsAre(AllOf(HasSubstr("no longer reached: 4 of 10"),
                                HasSubstr("37 processes in 1m30s"))));
  EXPECT_EQ(FullSince("processes"), 0u);
  EXPECT_THAT(watch_.Notes(), IsEmpty());
}

TEST_F(LimitWatchTest, LimitOfATypeNamesTheTypeAndTheRestart) {
  sources_.of_runtime.of_limited_types.push_back(
      {.name = "order", .live = 3, .max = 3});
  Pass(1);
  EXPECT_THAT(
      log_.TakeLines(),
      ElementsAre(HasSubstr(
          "the limit of processes of type order is reached: 3 of 3 processes; "
          "new processes of type order are refused with PROCESS_LIMIT. Raise "
          "limits.max_processes_per_type, which needs a restart; actorctl ps "
          "--type order lists them")));
  EXPECT_THAT(
      watch_.Notes(),
      ElementsAre(HasSubstr("new processes of type order are refused")));
}

TEST_F(LimitWatchTest, LimitsThatNobodyHasSetAreUnset) {
  const auto unset = [this] {
    std::vector<std::string> names;
    for (const LimitUse& use : ReadLimitUse(sources_)) {
      if (use.is_unset) names.push_back(LimitUseName(use));
    }
    return names;
  };
  EXPECT_THAT(
      unset(),
      ElementsAre("processes of a type", "processes of a client",
                  "waiting messages of a client", "external yields of a client",
                  "calls of a client", "memory"));
  sources_.quotas.bytes_per_second = 1;
  sources_.quotas.mailbox_bytes = 1;
  sources_.memory = runtime::MemoryUse{.bytes = 1, .limit = 2};
  EXPECT_THAT(unset(),
              ElementsAre("processes of a type", "processes of a client",
                          "external yields of a client"));
}

TEST_F(LimitWatchTest, LimitThatIsHitAgainAndAgainIsReachedOnce) {
  for (int i = 0; i < 10; ++i) {
    ++sources_.of_runtime.refused_mailbox;
    Pass(20);
  }
  EXPECT_THAT(log_.TakeLines(),
              ElementsAre(HasSubstr("the limit of mailboxes is reached: 1 "
                                    "events refused so far")));
  Pass(30);
  EXPECT_THAT(log_.TakeLines(), ElementsAre(HasSubstr("no longer reached")));
}

TEST_F(LimitWatchTest, NamesTheTypeWhoseLimitIsReached) {
  sources_.of_runtime.of_limited_types = {{"counter", 1, 2, 0},
                                          {"order", 7, 9, 0}};
  Pass(1);
  EXPECT_THAT(log_.Lines(), IsEmpty());
  EXPECT_EQ(FullSince("processes of type order"), 0u);
  sources_.of_runtime.of_limited_types[1] = {"order", 9, 9, 3};
  Pass(1);
  EXPECT_THAT(log_.TakeLines(),
              ElementsAre(AllOf(
                  HasSubstr("the limit of processes of type order is reached: "
                            "9 of 9 processes"),
                  HasSubstr("Raise limits.max_processes_per_type"))));
  EXPECT_NE(FullSince("processes of type order"), 0u);
  EXPECT_EQ(FullSince("processes of type counter"), 0u);
}

TEST_F(LimitWatchTest, DormantProcessesTakeNoRoom) {
  sources_.of_runtime.processes_live = 1000;
  sources_.of_runtime.processes_dormant = 995;
  Pass(1);
  EXPECT_THAT(log_.Lines(), IsEmpty());
}

TEST_F(LimitWatchTest, LimitsWithLinesOfTheirOwnAreOnlyNoted) {
  sources_.of_daemon.connections_open = 5;
  sources_.memory = runtime::MemoryUse{.bytes = 90, .limit = 100};
  sources_.is_memory_low = true;
  Pass(1);
  EXPECT_THAT(log_.Lines(), IsEmpty());
  EXPECT_THAT(watch_.Notes(),
              ElementsAre(HasSubstr("90 of 100 bytes; new processes, messages "
                                    "and calls are refused with MEMORY_LOW"),
                          HasSubstr("5 of 5 connections")));
}

TEST_F(LimitWatchTest, QuotasOfClientsAreLimits) {
  ++sources_.of_runtime.refused_processes_of_owner;
  ++sources_.of_runtime.refused_mailbox_of_owner;
  ++sources_.of_runtime.refused_external_of_owner;
  ++sources_.of_daemon.client_quota_limit;
  Pass(1);
  EXPECT_THAT(log_.TakeLines(),
              ElementsAre(HasSubstr("Raise quotas.processes;"),
                          HasSubstr("Raise quotas.mailbox_bytes;"),
                          HasSubstr("Raise quotas.yield_bytes;")))
      << "each refusal of a call has a line of its own";
  EXPECT_THAT(watch_.Notes(), SizeIs(4));
}

TEST_F(LimitWatchTest, DiskOfTheStoreIsALimit) {
  sources_.is_store_full = true;
  Pass(1);
  EXPECT_NE(FullSince("disk"), 0u);
  for (const LimitWatch::Limit& limit : watch_.Now().limits) {
    if (limit.use.row->name != std::string("disk")) continue;
    EXPECT_EQ(LimitUseText(limit.use), "no room is left");
  }
  EXPECT_THAT(watch_.Notes(), IsEmpty()) << "readiness has a note of its own";
}

TEST_F(LimitWatchTest, MeasuresTheProcessorsThatAreBusy) {
  own_.cpu_ns = 7 * runtime::kSecond;
  Pass(1);
  own_.cpu_ns += 3 * runtime::kSecond;
  clock_.AdvanceNs(runtime::kSecond);
  Pass(1);
  EXPECT_DOUBLE_EQ(watch_.Now().cpu_busy, 1.5);
  Pass(1);
  EXPECT_DOUBLE_EQ(watch_.Now().cpu_busy, 0);
}

TEST_F(LimitWatchTest, ThreadLooksByItself) {
  sources_.of_runtime.processes_live = 10;
  ASSERT_TRUE(watch_.Start().ok());
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (watch_.Notes().empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  watch_.Stop();
  EXPECT_THAT(log_.Lines(), SizeIs(1));
}

}  // namespace
}  // namespace actord::daemon
