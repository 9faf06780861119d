// Looking at processes: Describe, ListProcesses, Await.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/runtime/runtime_fixture.h"

namespace actord::runtime {
namespace {

using enum absl::StatusCode;

// A type with one method whose state may be looked at while "script", which has
// two, takes its slot.
class OtherProcess : public Process {
 public:
  static constexpr const char* kName = "other";
  static constexpr Method kMethods[] = {{"only", nullptr}};
  void Step(Events, StepOutput& out) { out.Done(); }
};

class Listing : public RuntimeTest {
 protected:
  void StartWith(int workers, RuntimeOptions options = {}) {
    options.workers = workers;
    ASSERT_TRUE(
        catalog_.AddProcessType(&kProcessType<OtherProcess>, "test").ok());
    Start(options);
  }
  // All pages.
  std::vector<ProcessInfo> ListAll(const ProcessFilter& filter, size_t page) {
    std::vector<ProcessInfo> all;
    uint32_t slot = 0;
    do {
      ProcessPage next = runtime_->ListProcesses(filter, slot, page);
      EXPECT_LE(next.processes.size(), page);
      EXPECT_TRUE(next.next_slot == 0 || next.processes.size() == page);
      all.insert(all.end(), next.processes.begin(), next.processes.end());
      slot = next.next_slot;
    } while (slot != 0);
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, Listing, ::testing::Values(1, 2, 3, 8));

TEST_P(Listing, PagesShowEachProcessOnce) {
  StartWith(GetParam());
  const Script waiting{};
  std::set<Pid> pids;
  for (int i = 0; i < 25; ++i) pids.insert(MustSubmit(waiting));
  for (const size_t page : {1u, 7u, 25u, 26u, 1000u}) {
    std::set<Pid> seen;
    for (const ProcessInfo& info : ListAll({}, page)) {
      EXPECT_TRUE(seen.insert(info.pid).second);
      EXPECT_EQ(info.process_type, "script");
      EXPECT_EQ(info.method, "run");
      EXPECT_TRUE(info.parent.empty());
      EXPECT_FALSE(info.cancel_requested);
      EXPECT_EQ(info.priority, 16);
    }
    EXPECT_EQ(seen, pids) << "page size " << page;
  }
}

TEST_P(Listing, FiltersByTypeAndState) {
  StartWith(GetParam());
  const Script waiting{};
  const Pid a = MustSubmit(waiting);
  const Pid b = MustSubmit(waiting, "cancellable");
  std::promise<void> entered;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future();
  const Script running{.step = [&](Events, StepOutput& out) {
    entered.set_value();
    may_go_on.wait();
    out.Done();
  }};
  ASSERT_TRUE(Eventually([&] {
    return runtime_->Describe(a)->state == ProcessState::kIdle &&
           runtime_->Describe(b)->state == ProcessState::kIdle;
  }));
  const Pid c = MustSubmit(running);
  entered.get_future().wait();
  const auto pids = [&](const ProcessFilter& filter) {
    std::set<Pid> set;
    for (const ProcessInfo& info : ListAll(filter, 10)) set.insert(info.pid);
    return set;
  };
  EXPECT_EQ(pids({.process_type = "script", .state = {}, .parent = {}}),
            (std::set<Pid>{a, c}));
  EXPECT_EQ(
      pids({.process_type = "", .state = ProcessState::kIdle, .parent = {}}),
      (std::set<Pid>{a, b}));
  EXPECT_EQ(
      pids({.process_type = "", .state = ProcessState::kRunning, .parent = {}}),
      (std::set<Pid>{c}));
  EXPECT_EQ(pids({.process_type = "nothing", .state = {}, .parent = {}}),
            (std::set<Pid>{}));
  go_on.set_value();
  MustAwait(c);
}

// Slots change their process all the time. Processes that live during the whole
// walk are listed exactly once, and no line mixes two processes.
TEST_P(Listing, AWalkUnderChurnIsConsistent) {
  RuntimeOptions options;
  options.max_processes = 64;
  StartWith(GetParam(), options);
  const Script waiting{};
  std::set<Pid> staying;
  for (int i = 0; i < 20; ++i) staying.insert(MustSubmit(waiting));
  std::atomic<bool> stop{false};
  const Script ending{.step = [](Events, StepOutput& out) { out.Done(); }};
  std::thread churning([&] {
    for (int i = 0; !stop; ++i) {
      if (i % 2 == 0) {
        Submit(SubmitRequest{"script", "other", {InputOf(ending), ""}, {}})
            .IgnoreError();
      } else {
        Submit(SubmitRequest{"other", "", {}, {}}).IgnoreError();
      }
    }
  });
  for (int walk = 0; walk < 2000; ++walk) {
    std::set<Pid> seen;
    for (const ProcessInfo& info : ListAll({}, 7)) {
      ASSERT_TRUE(seen.insert(info.pid).second);
      if (staying.count(info.pid) != 0) {
        ASSERT_EQ(info.method, "run");
      } else if (info.process_type == "other") {
        ASSERT_EQ(info.method, "only");
      } else {
        ASSERT_EQ(info.process_type, "script");
        ASSERT_EQ(info.method, "other");
      }
    }
    for (const Pid& pid : staying) ASSERT_EQ(seen.count(pid), 1u);
  }
  stop = true;
  churning.join();
}

// Await and the end of a process race; nobody waits for ever, and an Await that
// came in time gets the result, kept or not.
TEST_P(Listing, AwaitsThatRaceWithTheEndAreAnsweredOnceEach) {
  StartWith(GetParam());
  std::mutex mutex;
  Pid child_pid;  // guarded by mutex
  const Script child{.step = [](Events, StepOutput& out) { out.Done("x"); }};
  std::atomic<int> asked{0};
  std::atomic<int> answered{0};
  std::atomic<int> results{0};
  std::atomic<bool> stop{false};
  std::thread awaiting([&] {
    Pid last;
    while (!stop) {
      const Pid pid = [&] {
        const std::lock_guard lock(mutex);
        return child_pid;
      }();
      if (pid.empty() || pid == last) {
        std::this_thread::yield();
        continue;
      }
      last = pid;
      ++asked;
      runtime_->Await(pid, [&](const absl::StatusOr<Outcome>& outcome) {
        if (outcome.ok()) {
          EXPECT_EQ(outcome->result.bytes, "x");
          ++results;
        } else {
          EXPECT_THAT(outcome.status(),
                      Refused(kFailedPrecondition, reason::kResultNotKept));
        }
        // Last: the test may end when it has seen all.
        ++answered;
      });
    }
  });
  int rounds = 0;
  const Script parent{.step = [&](Events, StepOutput& out) {
    const Pid pid = FromAbi(out.Spawn("script", "", InputOf(child),
                                      {.keep_result = ++rounds % 4 == 0}));
    {
      const std::lock_guard lock(mutex);
      child_pid = pid;
    }
    if (rounds >= 2'000 && asked >= 20) {
      out.Done();
    } else {
      out.Continue();
    }
  }};
  MustAwait(MustSubmit(parent));
  stop = true;
  awaiting.join();
  EXPECT_TRUE(Eventually([&] { return answered == asked; }))
      << answered << " of " << asked;
  // The last child looks at what this test holds.
  EXPECT_TRUE(
      Eventually([&] { return runtime_->Stats().processes_live == 0; }));
}

TEST_P(Listing, AnAwaitCanBeGivenUp) {
  StartWith(GetParam());
  const Script waiting{};
  const Pid pid = MustSubmit(waiting);
  std::atomic<int> answered{0};
  const auto count = [&](const absl::StatusOr<Outcome>&) { ++answered; };
  const Runtime::AwaitId first = runtime_->Await(pid, count);
  const Runtime::AwaitId second = runtime_->Await(pid, count);
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_TRUE(runtime_->CancelAwait(pid, first));
  EXPECT_FALSE(runtime_->CancelAwait(pid, first));
  ASSERT_TRUE(runtime_->Terminate(pid, "").ok());
  MustAwait(pid);
  EXPECT_TRUE(Eventually([&] { return answered == 1; }));
  EXPECT_FALSE(runtime_->CancelAwait(pid, second));
}

}  // namespace
}  // namespace actord::runtime
