// Shutdown at every moment of a process's life, and what it promises.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/shutdown_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using enum absl::StatusCode;

INSTANTIATE_TEST_SUITE_P(Workers, ShutdownTest, ::testing::Values(1, 2, 3, 8));

TEST_P(ShutdownTest, EmptyRuntimeShutsDownAtOnce) {
  StartWith(GetParam());
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::InfiniteDuration());
  EXPECT_EQ(report.ended, 0u);
  EXPECT_EQ(report.forced, 0u);
  EXPECT_EQ(report.stuck, 0u);
  ExpectNothingLeft();
  EXPECT_THAT(Submit(Script{}).status(),
              Refused(kUnavailable, reason::kStopped));
  // Again: the same report.
  EXPECT_EQ(runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration()).ended,
            0u);
}

TEST_P(ShutdownTest, AStartAfterTheShutdownStartsNothing) {
  StartWith(GetParam());
  runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  const auto threads = [] {
    std::set<std::string> ids;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/task")) {
      ids.insert(entry.path().filename());
    }
    return ids;
  };
  // A joined thread may still be listed for a moment.
  const std::set<std::string> before = threads();
  EXPECT_TRUE(runtime_->Start().ok());
  EXPECT_THAT(threads(), ::testing::IsSubsetOf(before));
  EXPECT_EQ(runtime_->Stats().state, RunState::kStopped);
  EXPECT_THAT(Submit(Script{}).status(),
              Refused(kUnavailable, reason::kStopped));
}

TEST_P(ShutdownTest, DrainAsksEveryoneAndWaits) {
  StartWith(GetParam());
  std::atomic<int> closed{0};
  // Three processes: an idle process that does not handle cancels, a blocked
  // process that handles them, and a process that needs another yield before it
  // ends.
  const Script idle{.close = [&] { ++closed; }};
  const Script blocked{.step =
                           [](Events events, StepOutput& out) {
                             if (events.empty()) {
                               out.Yield("ext");
                               out.Block();
                             } else {
                               EXPECT_TRUE(events[0].is_cancel());
                               out.Done("tidy");
                             }
                           },
                       .close = [&] { ++closed; }};
  const Script finishing{.step =
                             [](Events events, StepOutput& out) {
                               if (events.empty()) return;
                               if (events[0].is_cancel()) {
                                 out.Yield("unknown");
                                 out.Block();
                               } else {
                                 out.Done("finished");
                               }
                             },
                         .close = [&] { ++closed; }};
  const Pid a = MustSubmit(idle);
  const Pid b = MustSubmit(blocked, "cancellable");
  const Pid c = MustSubmit(finishing, "cancellable");
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::Seconds(20));
  EXPECT_EQ(report.ended, 3u);
  EXPECT_EQ(report.forced, 0u);
  EXPECT_EQ(closed, 3);
  // Results are still there.
  EXPECT_EQ(MustAwait(a).kind, EndKind::kCancelled);
  EXPECT_EQ(MustAwait(b).result.bytes, "tidy");
  EXPECT_EQ(MustAwait(c).result.bytes, "finished");
  ExpectNothingLeft();
}

TEST_P(ShutdownTest, ProcessThatDoesNotEndInTimeIsTerminated) {
  StartWith(GetParam());
  std::atomic<int> closed{0};
  const Script stubborn{.close = [&] { ++closed; }};
  std::vector<Pid> pids;
  for (int i = 0; i < 5; ++i) {
    pids.push_back(MustSubmit(stubborn, "cancellable"));
  }
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::Milliseconds(20));
  EXPECT_EQ(report.forced, 5u);
  EXPECT_EQ(report.ended, 0u);
  EXPECT_EQ(report.stuck, 0u);
  EXPECT_EQ(closed, 5);
  for (const Pid& pid : pids) {
    EXPECT_EQ(MustAwait(pid).kind, EndKind::kTerminated);
  }
  ExpectNothingLeft();
}

TEST_P(ShutdownTest, NowTerminatesIdleBlockedAndBusyProcesses) {
  StartWith(GetParam());
  std::atomic<int> closed{0};
  const Script idle{.close = [&] { ++closed; }};
  const Script blocked{.step =
                           [](Events, StepOutput& out) {
                             out.Yield("ext");
                             out.Block();
                           },
                       .close = [&] { ++closed; }};
  const Script busy{.step = [](Events, StepOutput& out) { out.Continue(); },
                    .close = [&] { ++closed; }};
  for (const Script* script : {&idle, &blocked, &busy}) MustSubmit(*script);
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kNow, absl::InfiniteDuration());
  EXPECT_EQ(report.forced, 3u);
  EXPECT_EQ(closed, 3);
  ExpectNothingLeft();
}

TEST_P(ShutdownTest, AHurryCutsTheDrainShortThatIsUnderWay) {
  StartWith(GetParam());
  MustSubmit(Script{}, "cancellable");
  std::thread impatient([this] {
    while (runtime_->Stats().state != RunState::kDraining) {
      std::this_thread::yield();
    }
    runtime_->HurryShutdown();
  });
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::InfiniteDuration());
  impatient.join();
  EXPECT_EQ(report.forced, 1u);
  ExpectNothingLeft();
}

TEST_P(ShutdownTest, AHurryCutsTheDrainShortThatIsAboutToBegin) {
  StartWith(GetParam());
  MustSubmit(Script{}, "cancellable");
  runtime_->HurryShutdown();
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::InfiniteDuration());
  EXPECT_EQ(report.forced, 1u);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace actord::runtime
