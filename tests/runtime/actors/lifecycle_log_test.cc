// The log of starts and ends: its events, its limits, and the readers that it
// wakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/runtime/actors/lifecycle_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using EventKind = LifecycleEvent::Kind;
namespace t = actord::testing;

std::vector<EventKind> KindsOf(const std::vector<LifecycleEvent>& events) {
  std::vector<EventKind> kinds;
  for (const LifecycleEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

TEST_F(LifecycleLogTest, RecordsNothingWhileNobodyWatches) {
  Start();
  Run(10);
  EXPECT_EQ(Stats().watch_events, 0u);
  EXPECT_EQ(log().end(), 1u);
  LogReader reader(log());
  EXPECT_THAT(reader.Read().events, IsEmpty());
  Run(10);
  EXPECT_EQ(Stats().watch_events, 20u);
  EXPECT_EQ(Stats().watches_open, 1u);
}

TEST_F(LifecycleLogTest, SaysWhatHasStartedAndHowItHasEnded) {
  Start();
  LogReader reader(log());
  const uint64_t began = core_->clock.UnixNs();
  const t::Script idle{};
  Pid child;
  const Pid pid =
      core_->Submit([&](actord::Events events, actord::StepOutput& out) {
        if (!events.empty()) return out.Done("a result");
        child = FromAbi(out.Spawn("cancellable", "other", t::InputOf(idle),
                                  {.priority = 20}));
      });
  core_->clock.manual.AdvanceNs(kSecond);
  core_->Send(pid, -1);
  core_->Settle();
  Terminate(child);
  const std::vector<LifecycleEvent> events = reader.Read().events;
  ASSERT_THAT(KindsOf(events),
              ElementsAre(EventKind::kStarted, EventKind::kStarted,
                          EventKind::kEnded, EventKind::kEnded));
  EXPECT_EQ(events[0].pid, pid);
  EXPECT_TRUE(events[0].parent.empty());
  EXPECT_EQ(events[0].process_type, "script");
  EXPECT_EQ(events[0].method, "run");
  EXPECT_EQ(events[0].priority, kDefaultPriority);
  EXPECT_EQ(events[0].started_unix_ns, began);
  EXPECT_EQ(events[1].pid, child);
  EXPECT_EQ(events[1].parent, pid);
  EXPECT_EQ(events[1].process_type, "cancellable");
  EXPECT_EQ(events[1].method, "other");
  EXPECT_EQ(events[1].priority, 20);
  EXPECT_EQ(events[2].pid, pid);
  EXPECT_EQ(events[2].end, EndKind::kResult);
  EXPECT_EQ(events[2].code, absl::StatusCode::kOk);
  EXPECT_EQ(events[2].message, "");
  EXPECT_EQ(events[2].steps, 2u);
  EXPECT_EQ(events[2].started_unix_ns, began);
  EXPECT_EQ(events[2].ended_unix_ns, began + kSecond);
  EXPECT_EQ(events[3].pid, child);
  EXPECT_EQ(events[3].parent, pid);
  EXPECT_EQ(events[3].process_type, "cancellable");
  EXPECT_EQ(events[3].end, EndKind::kTerminated);
  EXPECT_EQ(events[3].code, absl::StatusCode::kAborted);
  EXPECT_EQ(events[3].message, "enough");
  // Its result is not kept; the time is told all the same.
  EXPECT_EQ(events[3].ended_unix_ns, began + kSecond);
}

TEST_F(LifecycleLogTest, TellsOfEndsThatHadNoBeginning) {
  Start();
  LogReader reader(log());
  const t::Script refusing{.init = [](std::string_view) {
    return actord::Status(actord::Code::kNotFound, "no");
  }};
  core_->core->admission.Submit(
      SubmitRequest{"script", "", {t::InputOf(refusing), ""}, {}}, Pid{}, true,
      [](const absl::StatusOr<Pid>& pid) { EXPECT_FALSE(pid.ok()); });
  core_->Settle();
  core_->Submit([](actord::Events, actord::StepOutput& out) {
    EXPECT_FALSE(out.Spawn("unheard-of").empty());
    out.Done();
  });
  const std::vector<LifecycleEvent> events = reader.Read().events;
  ASSERT_THAT(KindsOf(events),
              ElementsAre(EventKind::kEnded, EventKind::kStarted,
                          EventKind::kEnded, EventKind::kEnded));
  EXPECT_EQ(events[0].end, EndKind::kInitRefused);
  EXPECT_EQ(events[0].message, "no");
  EXPECT_EQ(events[0].steps, 0u);
  EXPECT_EQ(events[3].end, EndKind::kInitRefused);
  EXPECT_EQ(events[3].process_type, "");
  EXPECT_EQ(events[3].parent, events[1].pid);
}

TEST_F(LifecycleLogTest, KeepsTheBeginningOfAText) {
  Start();
  LogReader reader(log());
  const auto failing = [this](std::string text) {
    core_->Submit([text](actord::Events, actord::StepOutput& out) {
      out.Fail(actord::Code::kInternal, text);
    });
  };
  const std::string whole(256, 'x');
  failing(whole);
  failing(whole + "y");
  // A character that would be cut is left out.
  const std::string before(255, 'x');
  failing(before + "\xc3\xa4");
  failing(std::string(253, 'x') + "\xf0\x9f\x8e\x88" + "z");
  // This is no UTF-8, so there is nothing to be kept whole.
  failing(std::string(500, '\x80'));
  std::vector<std::string> texts;
  for (const LifecycleEvent& event : reader.Read().events) {
    if (event.kind == EventKind::kEnded) texts.push_back(event.message);
  }
  EXPECT_THAT(texts, ElementsAre(whole, whole, before, std::string(253, 'x'),
                                 std::string(256, '\x80')));
}

TEST_F(LifecycleLogTest, IsReadInBatches) {
  Start();
  LogReader reader(log());
  Run(100);
  size_t read = 0;
  for (size_t batch : {1u, 7u, 64u, 65u}) {
    EXPECT_EQ(reader.Read({.events = batch}).events.size(), batch);
    read += batch;
  }
  EXPECT_EQ(reader.Read({.events = 1000}).events.size(), 200 - read);
  EXPECT_EQ(reader.cursor, log().end());
  // By their memory; but one at least.
  reader.cursor = 1;
  EXPECT_EQ(reader.Read({.bytes = 1}).events.size(), 1u);
  const size_t some = reader.Read({.bytes = 10'000}).events.size();
  EXPECT_GT(some, 10u);
  EXPECT_LT(some, 10'000 / sizeof(LifecycleEvent));
}

TEST_F(LifecycleLogTest, ShowsAReaderWhatItWants) {
  Start();
  LogReader reader(log());
  const t::Script idle{};
  const Pid other = core_->Submit(idle, "cancellable");
  Run(100);
  Pid child;
  const Pid parent =
      core_->Submit([&](actord::Events, actord::StepOutput& out) {
        child = FromAbi(out.Spawn("script", "", t::InputOf(idle)));
        out.Done();
      });
  const auto pids_of = [](const LifecycleLog::Reading& reading) {
    std::vector<Pid> pids;
    for (const LifecycleEvent& event : reading.events)
      pids.push_back(event.pid);
    return pids;
  };
  ProcessFilter type;
  type.process_type = "cancellable";
  const auto of_type = reader.Read({}, type);
  EXPECT_THAT(pids_of(of_type), ElementsAre(other));
  EXPECT_EQ(of_type.next, log().end());
  reader.cursor = 1;
  ProcessFilter children;
  children.parent = parent;
  EXPECT_THAT(pids_of(reader.Read({}, children)), ElementsAre(child));
}

TEST_F(LifecycleLogTest, ReadChecksALimitedNumberOfEvents) {
  Start();
  LogReader reader(log());
  Run(LifecycleLog::kMaxLookedAt / 2 + 1);
  ProcessFilter nobody;
  nobody.process_type = "nobody";
  const LifecycleLog::Reading part = reader.Read({}, nobody);
  EXPECT_EQ(part.next, 1 + LifecycleLog::kMaxLookedAt);
  EXPECT_FALSE(part.waits);
  const LifecycleLog::Reading rest = reader.Read({}, nobody);
  EXPECT_EQ(rest.next, log().end());
  EXPECT_TRUE(rest.waits);
}

TEST_F(LifecycleLogTest, ForgetsTheOldestAndSaysSo) {
  RuntimeOptions options;
  options.watch_max_events = 10;
  Start(options);
  LogReader slow(log());
  LogReader quick(log());
  Run(5);
  EXPECT_EQ(quick.Read().events.size(), 10u);
  EXPECT_TRUE(log().Holds(slow.cursor));
  Run(2);
  EXPECT_EQ(quick.Read().events.size(), 4u);
  EXPECT_FALSE(log().Holds(slow.cursor));
  const LifecycleLog::Reading lost = slow.Read();
  EXPECT_TRUE(lost.lost);
  EXPECT_TRUE(lost.known);
  EXPECT_THAT(lost.events, IsEmpty());
  EXPECT_EQ(lost.next, 1u);
  EXPECT_EQ(lost.oldest, 5u);
  EXPECT_EQ(lost.end, 15u);
  EXPECT_EQ(Stats().watch_events_kept, 10u);
  EXPECT_EQ(Stats().watch_events, 14u);
  slow.cursor = lost.oldest;
  EXPECT_EQ(slow.Read().events.size(), 10u);
}

TEST_F(LifecycleLogTest, BoundsTheirMemory) {
  RuntimeOptions options;
  options.watch_max_bytes = 4096;
  Start(options);
  LogReader reader(log());
  for (int i = 0; i < 100; ++i) {
    core_->Submit([i](actord::Events, actord::StepOutput& out) {
      out.Fail(actord::Code::kInternal,
               std::string(static_cast<size_t>(i), 'x'));
    });
    ASSERT_LE(Stats().watch_events_bytes, 4096u);
    ASSERT_GE(Stats().watch_events_kept, std::min<uint64_t>(2 * i, 8));
  }
  EXPECT_TRUE(reader.Read().lost);
}

TEST_F(LifecycleLogTest, ALowerLimitForgetsAtOnce) {
  Start();
  LogReader reader(log());
  Run(50);
  ASSERT_TRUE(SetLimits(20, 1 << 20).ok());
  EXPECT_EQ(Stats().watch_events_kept, 20u);
  ASSERT_TRUE(SetLimits(20, 4096).ok());
  EXPECT_LE(Stats().watch_events_bytes, 4096u);
  ASSERT_TRUE(SetLimits(1, 4096).ok());
  EXPECT_EQ(Stats().watch_events_kept, 1u);
  Run(1);
  reader.cursor = log().end() - 1;
  EXPECT_THAT(KindsOf(reader.Read().events), ElementsAre(EventKind::kEnded));
  EXPECT_FALSE(SetLimits(0, 4096).ok());
  EXPECT_FALSE(SetLimits(1, 4095).ok());
}

TEST_F(LifecycleLogTest, ACursorThatItNeverGaveIsLost) {
  Start();
  LogReader reader(log());
  Run(3);
  for (const uint64_t cursor : {uint64_t{0}, uint64_t{8}, UINT64_MAX}) {
    reader.cursor = cursor;
    const LifecycleLog::Reading reading = reader.Read();
    EXPECT_TRUE(reading.lost) << cursor;
    EXPECT_FALSE(reading.known) << cursor;
    EXPECT_EQ(reading.end, 7u);
  }
}

TEST_F(LifecycleLogTest, ReaderThatHasReadAllIsWokenOnce) {
  Start();
  LogReader busy(log());
  LogReader waiting(log());
  const auto woken = [&](int times) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (waiting.wakes() < times &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    return waiting.wakes() == times;
  };
  // When the thread has woken this reader twice, it has also done its work for
  // the other readers.
  LogReader witness(log());
  const auto let_wake = [&] {
    for (int time = 0; time < 2; ++time) {
      while (!witness.Read().waits) {
      }
      const int before = witness.wakes();
      Run(1);
      const auto deadline =
          std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (witness.wakes() == before) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        std::this_thread::yield();
      }
    }
  };
  let_wake();
  EXPECT_EQ(waiting.wakes(), 0) << "it has not asked";
  EXPECT_EQ(waiting.Read().events.size(), 4u);
  let_wake();
  EXPECT_EQ(waiting.wakes(), 0) << "it has found something";
  EXPECT_EQ(waiting.Read().events.size(), 4u);
  for (int round = 1; round <= 20; ++round) {
    EXPECT_THAT(waiting.Read().events, IsEmpty());
    Run(5);
    EXPECT_TRUE(woken(round));
    EXPECT_EQ(waiting.Read().events.size(), 10u);
  }
  let_wake();
  EXPECT_EQ(waiting.wakes(), 20);
  EXPECT_EQ(busy.wakes(), 0);
}

}  // namespace
}  // namespace actord::runtime
