// Watches that begin, read and end while processes start and end: at every
// moment a snapshot and the events after it show exactly the live processes.
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/actors/lifecycle_log.h"
#include "tests/runtime/actors/ties_fixture.h"
#include "tests/runtime/runtime_fixture.h"
#include "tests/support/sanitizers.h"

namespace actord::runtime {
namespace {

class LifecyclesOfThreads : public RuntimeTest {
 protected:
  void TearDown() override { runtime_.reset(); }

  std::set<Pid> Live() {
    std::set<Pid> live;
    uint32_t slot = 0;
    do {
      const ProcessPage page = runtime_->ListProcesses({}, slot, 1000);
      for (const ProcessInfo& info : page.processes) live.insert(info.pid);
      slot = page.next_slot;
    } while (slot != 0);
    return live;
  }

  // One watch that begins when `begin` processes have been spawned, in the
  // middle of all that starts and ends, and stays. When `quiet` says that
  // nothing starts or ends any more, it shows what lives.
  void Watch(uint64_t seed, const std::atomic<int>& spawned, int begin,
             const std::atomic<bool>& quiet, std::atomic<uint64_t>& lost,
             std::atomic<uint64_t>& right) {
    while (spawned < begin && !quiet) std::this_thread::yield();
    LogReader reader(runtime_->lifecycle_log());
    WatchedView view;
    const auto walk = [&] {
      view.Begin();
      uint32_t slot = 0;
      do {
        const ProcessPage page =
            runtime_->ListProcesses({}, slot, 1 + seed % 50);
        view.Add(page);
        slot = page.next_slot;
        if (seed % 3 == 0) std::this_thread::yield();
      } while (slot != 0);
    };
    // True: it is at the end.
    const auto read = [&] {
      const LifecycleLog::Reading reading =
          reader.Read({.events = 1 + seed % 100});
      if (reading.lost) {
        ++lost;
        reader.cursor = reading.end;
        walk();
        return false;
      }
      for (const LifecycleEvent& event : reading.events) view.Add(event);
      return reading.events.empty();
    };
    walk();
    while (!quiet) {
      if (read()) std::this_thread::yield();
    }
    // An end is counted a moment before it is seen.
    if (Eventually([&] { return read() && view.live() == Live(); })) {
      ++right;
    } else {
      ADD_FAILURE() << "seen " << view.live().size() << ", live "
                    << Live().size();
    }
  }

  void ChurnAndWatch(RuntimeOptions options, int rounds, int watchers_of_each) {
    constexpr int kSteps = 400;
    // ThreadSanitizer sees every round, in two builds.
    if (ACTORD_ADDRESS_SANITIZER) rounds /= 4;
    std::mt19937 random(static_cast<unsigned>(rounds));
    Start(std::move(options));
    std::atomic<uint64_t> lost{0};
    std::atomic<uint64_t> right{0};
    const Script staying{};
    const Script done{.step = [](Events, StepOutput& out) { out.Done(); }};
    const Script refusing{.init = [](std::string_view) {
      return Status(Code::kInvalidArgument, "no");
    }};
    std::vector<Pid> left;
    for (int round = 0; round < rounds; ++round) {
      std::atomic<bool> quiet{false};
      std::atomic<int> spawned{0};
      std::vector<std::thread> watchers;
      for (int w = 0; w < watchers_of_each; ++w) {
        // Some begin before there is anything, some when all is over.
        const int begin = static_cast<int>(random() % (kSteps + 20));
        watchers.emplace_back([&, seed = uint64_t{random()}, begin] {
          Watch(seed, spawned, begin, quiet, lost, right);
        });
      }
      // Both keep their results and do not: two ways to end.
      const Script spawning{.step = [&](Events, StepOutput& out) {
        const int i = ++spawned;
        for (const Script* child : {&done, &refusing, &staying}) {
          if (child == &staying && i % 8 != 0) continue;
          const Pid pid = FromAbi(out.Spawn("script", "", InputOf(*child),
                                            {.keep_result = i % 2 == 0}));
          if (child == &staying) out.Send(ToAbi(pid), "hello");
        }
        if (i < kSteps) return out.Continue();
        out.Done();
      }};
      const Pid first = MustSubmit(spawning);
      // The processes of the previous round end meanwhile.
      for (const Pid& pid : left) runtime_->Terminate(pid, "").IgnoreError();
      MustAwait(first);
      left.clear();
      // 50 of this round; all others have ended.
      ASSERT_TRUE(
          Eventually([&] { return runtime_->Stats().processes_live == 50; }));
      for (const Pid& pid : Live()) left.push_back(pid);
      quiet = true;
      for (std::thread& watcher : watchers) watcher.join();
    }
    EXPECT_EQ(right, static_cast<uint64_t>(rounds * watchers_of_each));
    lost_ = lost;
  }

  uint64_t lost_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Workers, LifecyclesOfThreads,
                         ::testing::Values(1, 2, 4));

TEST_P(LifecyclesOfThreads, AViewIsRightFromEveryMomentOn) {
  RuntimeOptions options;
  options.workers = GetParam();
  ChurnAndWatch(options, 60, 3);
  EXPECT_EQ(lost_, 0u);
}

// Recording begins with each watcher, also in the middle of a start or an end,
// because it has stopped with the watcher before.
TEST_P(LifecyclesOfThreads, TheViewOfALoneWatcherIsRight) {
  RuntimeOptions options;
  options.workers = GetParam();
  options.watch_retention = absl::ZeroDuration();
  ChurnAndWatch(options, 100, 1);
  EXPECT_EQ(lost_, 0u);
}

TEST_P(LifecyclesOfThreads, AViewIsRightAgainAfterALoss) {
  RuntimeOptions options;
  options.workers = GetParam();
  options.watch_max_events = 40;
  ChurnAndWatch(options, 40, 3);
  EXPECT_GT(lost_, 0u);
}

// A caller that is told of a start or an end finds it in the log.
TEST_P(LifecyclesOfThreads, CallerThatIsToldOfAnEventFindsItInTheLog) {
  RuntimeOptions options;
  options.workers = GetParam();
  Start(options);
  LogReader reader(runtime_->lifecycle_log());
  const Script waiting{.step = [](Events events, StepOutput& out) {
    if (!events.empty()) out.Done();
  }};
  for (int i = 0; i < 300; ++i) {
    const Pid pid = MustSubmit(waiting);
    auto events = reader.Read().events;
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].pid, pid);
    ASSERT_TRUE(Send(pid, "end").ok());
    MustAwait(pid);
    events = reader.Read().events;
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, LifecycleEvent::Kind::kEnded);
  }
}

TEST_P(LifecyclesOfThreads, AShutdownIsTold) {
  RuntimeOptions options;
  options.workers = GetParam();
  Start(options);
  LogReader reader(runtime_->lifecycle_log());
  const Script waiting{};
  for (int i = 0; i < 200; ++i) MustSubmit(waiting);
  runtime_->Shutdown(ShutdownMode::kDrain, absl::InfiniteDuration());
  WatchedView view;
  size_t events = 0;
  for (const LifecycleEvent& event : reader.Read().events) {
    view.Add(event);
    ++events;
  }
  EXPECT_EQ(events, 400u);
  EXPECT_TRUE(view.live().empty());
}

}  // namespace
}  // namespace actord::runtime
