// Moments between two writes of another thread, brought about by hand.
#include "tests/runtime/interleaving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The sender that finds a process idle hands its message over, and what comes
// before the process runs lies behind it in the queue.
TEST_F(Interleaving, MessageInHandGoesBeforeTheQueue) {
  for (const bool ends : {false, true}) {
    SCOPED_TRACE(ends);
    Start();
    const Pid pid = Recorder();
    Process& process = core_->process(pid);
    core_->Settle();
    seen_.clear();
    Runtime::Core& core = *core_->core;
    for (const char* topic : {"1", "2", "3"}) {
      EXPECT_EQ(core.delivery.Send(Owner::kAny, pid, NewMessage(pid, topic),
                                   core.lane),
                Delivery::Result::kDelivered);
    }
    ASSERT_NE(process.in_hand, nullptr);
    EXPECT_EQ(process.in_hand->topic(), "1");
    EXPECT_EQ(Activity::Messages(process.activity), 3u);
    if (ends) {
      // Every event that no process will see is reported.
      EXPECT_TRUE(core.delivery
                      .Control(Owner::kAny, pid, kEventTerminate, "", core.lane)
                      .ok());
      core_->Settle();
      EXPECT_THAT(seen_, IsEmpty());
      EXPECT_EQ(process.in_hand, nullptr);
      EXPECT_EQ(core.Stats().dead_letters, 3u);
    } else {
      core_->Settle();
      EXPECT_THAT(seen_, ElementsAre("1", "2", "3"));
      EXPECT_EQ(process.activity, 0u);
    }
    core_.reset();
  }
}

// The messages of a step to a child that it has just spawned come in order,
// with later ones behind them, and within the mailbox's limit.
TEST_F(Interleaving, ChildGetsTheFirstMessagesOfItsParentInOrder) {
  RuntimeOptions options;
  options.max_mailbox_messages = 3;
  Start(options);
  std::vector<std::string> seen;
  const actord::testing::Script child{
      .step = [&seen](Events events, StepOutput&) {
        for (const Event event : events) seen.emplace_back(event.topic());
      }};
  core_->Submit([&](Events, StepOutput& out) {
    const auto first = out.Spawn("script", "", actord::testing::InputOf(child));
    const auto other = out.Spawn("script", "", actord::testing::InputOf(child));
    out.Send(other, "o1");
    for (const char* topic : {"f1", "f2"}) out.Send(first, topic);
    for (const char* topic : {"o2", "o3", "too many"}) out.Send(other, topic);
    out.Done();
  });
  core_->Settle();
  // Which of the two runs first is the scheduler's business.
  std::stable_partition(seen.begin(), seen.end(), [](const std::string& topic) {
    return topic[0] == 'f';
  });
  EXPECT_THAT(seen, ElementsAre("f1", "f2", "o1", "o2", "o3"));

  seen.clear();
  core_->Submit([&](Events, StepOutput& out) {
    const auto first = out.Spawn("script", "", actord::testing::InputOf(child));
    for (const char* topic : {"1", "2", "3", "too many"})
      out.Send(first, topic);
    out.Done();
  });
  core_->Settle();
  EXPECT_THAT(seen, ElementsAre("1", "2", "3"));
  EXPECT_EQ(core_->core->Stats().dead_letters, 2u);
  EXPECT_EQ(core_->core->Stats().refused_mailbox, 2u);
}

// A completion for a process that waits is handed over; a cancel that comes
// before its turn goes through the queue, and ends it, though it has not seen
// the completion.
TEST_F(Interleaving, CompletionIsHandedToTheWaitingProcess) {
  for (const bool cancel : {false, true}) {
    SCOPED_TRACE(cancel);
    Start();
    const Pid pid = Recorder(/*blocks=*/true);
    Process& process = core_->process(pid);
    core_->Settle();
    seen_.clear();
    Runtime::Core& core = *core_->core;
    EXPECT_EQ(
        core.delivery.Send(Owner::kAny, pid, NewMessage(pid, "1"), core.lane),
        Delivery::Result::kDelivered);
    EXPECT_EQ(process.in_hand, nullptr) << "it is blocked";
    EXPECT_EQ(core.tasks.Complete({{pid, 1}, 0}, {}),
              CompleteAnswer::kAccepted);
    EXPECT_FALSE(process.urgent_taken.empty());
    if (cancel) {
      EXPECT_TRUE(
          core.delivery
              .Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "", core.lane)
              .ok());
      core_->Settle();
      EXPECT_THAT(seen_, IsEmpty());
      EXPECT_EQ(core.processes.Find(pid), nullptr);
      EXPECT_EQ(core.Stats().dead_letters, 1u);
      EXPECT_TRUE(process.urgent_taken.empty());
    } else {
      core_->Settle();
      EXPECT_THAT(seen_, ElementsAre("c", "1"));
      EXPECT_EQ(process.activity, 0u) << "all counts are back to nothing";
    }
    core_.reset();
  }
}

// The mailbox of a process that is submitted with messages and a name is as
// full for those who find it by the name as it will be, before it starts.
TEST_F(Interleaving, FirstMessagesCountBeforeTheNameIsFound) {
  RuntimeOptions options;
  options.max_mailbox_messages = 2;
  Start(options);
  Runtime::Core& core = *core_->core;
  const actord::testing::Script script{
      .step = [this](Events events, StepOutput&) {
        for (const Event event : events) seen_.emplace_back(event.topic());
      }};
  SubmitRequest request;
  request.process_type = "script";
  request.input = {actord::testing::InputOf(script), ""};
  request.name = "x";
  request.messages = {{"1", {}}, {"2", {}}};
  core.admission.Submit(
      request, Pid{}, /*keep_result=*/false,
      [](absl::StatusOr<Pid> pid) { EXPECT_TRUE(pid.ok()) << pid.status(); });
  const absl::StatusOr<Pid> pid = core.names.Find(Owner::kNobody, "x");
  ASSERT_TRUE(pid.ok());
  Process& process = core_->process(*pid);
  ASSERT_NE(process.in_hand, nullptr);
  EXPECT_EQ(process.in_hand->topic(), "1");
  Envelope* more = NewMessage(*pid, "more");
  EXPECT_EQ(core.delivery.Send(Owner::kAny, *pid, more, core.lane),
            Delivery::Result::kMailboxFull);
  core.lane.Free(more);
  // The name is taken: what it would have held is not counted in its slot.
  const uint64_t messages = core.Stats().messages_sent;
  core.admission.Submit(
      request, Pid{}, /*keep_result=*/false, [](absl::StatusOr<Pid> second) {
        EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
      });
  EXPECT_EQ(core.Stats().messages_sent, messages);
  for (uint32_t slot = 0; slot < core.processes.SlotsInUse(); ++slot) {
    Process& other = core.processes.At(slot);
    if (&other != &process) {
      EXPECT_EQ(other.activity, Activity::kEnded);
    }
  }
  core_->Settle();
  EXPECT_THAT(seen_, ElementsAre("1", "2"));
  EXPECT_EQ(process.activity, 0u) << "all counts are back to nothing";
}

// A sender found the process, which then ended; its slot has a new owner when
// the message arrives. The same for a completion and a cancel.
TEST_F(Interleaving, EventForAnEarlierProcessOfTheSlotIsDropped) {
  RuntimeOptions options;
  options.max_processes = 1;
  Start(options);
  for (const bool before_the_next : {true, false}) {
    const Pid old_pid =
        core_->Submit([](Events, StepOutput& out) { out.Done(); });
    Process& process = core_->process(old_pid);
    seen_.clear();
    Pid pid;
    if (!before_the_next) pid = Recorder();
    const uint64_t dead = core_->core->Stats().dead_letters;
    Envelope* late = NewMessage(old_pid, "late");
    CountAndWake(process, *late);
    process.messages.Push(late);
    for (const uint16_t type :
         {uint16_t{ACTORD_EVENT_COMPLETION}, uint16_t{ACTORD_EVENT_CANCEL},
          kEventTerminate}) {
      Envelope* urgent = core_->core->lane.NewEnvelope(type, {}, {});
      urgent->generation = old_pid.generation;
      process.urgent.Push(urgent);
      if (Activity::Add(process.activity, Activity::kUrgentOne)) {
        core_->core->scheduler.Enqueue(&process, nullptr);
      }
    }
    if (before_the_next) pid = Recorder();
    ASSERT_EQ(pid.slot, old_pid.slot);
    core_->Settle();
    EXPECT_THAT(seen_, IsEmpty());
    EXPECT_NE(core_->core->processes.Find(pid), nullptr);
    EXPECT_EQ(core_->core->Stats().dead_letters, dead + 1);
    EXPECT_EQ(process.activity, 0u) << "all counts are back to nothing";
    core_->core->delivery
        .Control(Owner::kAny, pid, kEventTerminate, "", core_->core->lane)
        .IgnoreError();
    core_->Settle();
  }
}

// Asked for the time by a submit that has found the daemon serving, but whose
// process is not counted yet.
class SubmitHookClock final : public Clock {
 public:
  [[nodiscard]] uint64_t MonotonicNs() const override {
    return Clock::System().MonotonicNs();
  }
  [[nodiscard]] uint64_t UnixNs() const override {
    if (hook) std::exchange(hook, nullptr)();
    return Clock::System().UnixNs();
  }
  mutable std::function<void()> hook;
};

TEST(ShutdownInterleaving, ASubmitThatWasUnderWayIsWaitedFor) {
  SubmitHookClock clock;
  Catalog catalog;
  ASSERT_TRUE(
      catalog
          .AddProcessType(&kProcessType<actord::testing::ScriptProcess>, "test")
          .ok());
  RuntimeOptions options;
  options.workers = 1;
  options.clock = &clock;
  auto runtime = Runtime::Create(options, catalog);
  ASSERT_TRUE(runtime.ok());
  ASSERT_TRUE((*runtime)->Start().ok());
  ShutdownReport report;
  std::thread shutting_down;
  clock.hook = [&] {
    shutting_down = std::thread([&] {
      report = (*runtime)->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
    });
    // Gives the shutdown time to end, which it must not.
    const auto enough =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    while (std::chrono::steady_clock::now() < enough &&
           (*runtime)->Stats().state != RunState::kStopped) {
      std::this_thread::yield();
    }
    EXPECT_NE((*runtime)->Stats().state, RunState::kStopped);
  };
  int answers = 0;
  const actord::testing::Script script;
  (*runtime)->Submit(
      SubmitRequest{"script", "", {actord::testing::InputOf(script), ""}, {}},
      [&](const absl::StatusOr<Pid>&) { ++answers; });
  shutting_down.join();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(report.forced, 1u);
  EXPECT_EQ((*runtime)->Stats().processes_live, 0u);
}

}  // namespace
}  // namespace actord::runtime
