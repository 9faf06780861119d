// Durable processes of replay types: a restart runs their steps again.
#include "runtime/durable_turn/history_replay.h"

#include <actord/coroutine.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

// Waits for `go`, draws, sleeps, has a payment charged, asks a child, and ends
// with what it has seen when it gets `end`. The call `report` is answered with
// what it has seen so far.
class Saga : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "saga";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    if (input.bytes == "refuse") {
      return {actord::Code::kInvalidArgument, "not this one"};
    }
    seen_ = input.bytes;
    return actord::Status::Ok();
  }
  actord::Task<actord::OwnedPayload> Main(actord::Context& ctx) {
    co_await ctx.Receive("go");
    seen_ += " " + std::to_string(ctx.random());
    seen_ += " " + std::to_string(ctx.now().time_since_epoch().count());
    co_await ctx.Sleep(std::chrono::milliseconds(100));
    const actord::Result<> paid = co_await ctx.Run(command, "7");
    seen_ += paid.ok() ? " " + paid->bytes : std::string(" refused");
    const actord::Pid child = ctx.Spawn("puppet");
    ctx.Send(child, "note", "hello");
    const actord::Result<> notes = co_await ctx.Call(child, "get");
    seen_ += " " + (notes.ok() ? notes->bytes : std::string("nothing"));
    const actord::Message asked = co_await ctx.Receive("report");
    ctx.Reply(asked, seen_);
    co_await ctx.Receive("end");
    co_return seen_;
  }

  static inline std::string command = "payment.charge";

 private:
  std::string seen_;
};

// Notes the topics of its messages in their order; the call `get` is noted and
// answered with the notes.
class Diary : public actord::Process {
 public:
  static constexpr const char* kName = "diary";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  void Step(actord::Events events, actord::StepOutput& out) {
    ++steps;
    for (const actord::Event event : events) {
      if (!event.is_message()) continue;
      notes_ += std::string(event.topic()) + ",";
      if (event.call() != 0) out.Reply(event.call(), notes_);
    }
  }

  static inline uint64_t steps = 0;

 protected:
  std::string notes_;
};

// A diary that can also be kept as an image.
class Album : public Diary {
 public:
  static constexpr const char* kName = "album";

  actord::SnapshotResult Snapshot() const { return notes_; }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    notes_ = from.snapshot.bytes;
    return actord::Status::Ok();
  }
};

class Replay : public ::testing::Test {
 protected:
  void SetUp() override {
    Saga::command = "payment.charge";
    world.more_types = {&actord::kProcessType<Saga>,
                        &actord::kProcessType<Diary>,
                        &actord::kProcessType<Album>};
    ASSERT_TRUE(world.Start(Options()).ok());
  }
  RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"payment.*"};
    options.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors.emplace_back(text);
    };
    return options;
  }
  Pid New(const std::string& type, std::string input = "") {
    auto told = world.Submit(std::move(input), "", true, type);
    world.Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  // Charges what waits to be charged; returns how much that is.
  size_t Charge() {
    struct Deaf final : TaskListener {
      void Wake() override {}
    };
    TaskTable& tasks = world.runtime().tasks;
    const RemoteWorkerId worker = tasks.Open({"payment.*"}, "till", Owner::kAny,
                                             std::make_shared<Deaf>());
    EXPECT_TRUE(tasks.AddCredits(worker, 10));
    const auto batch = tasks.Take(worker, false, {});
    world.Settle();
    for (const TaskAttempt& task : batch.tasks) {
      EXPECT_EQ(tasks.Complete(task.token, {{}, {"paid", ""}}),
                CompleteAnswer::kAccepted);
    }
    world.Settle();
    return batch.tasks.size();
  }
  static std::string CallIn(DurableWorld& world, const Pid& pid,
                            const std::string& topic) {
    auto answer = std::make_shared<std::string>("no answer");
    world.runtime().calls.Begin(Owner::kAny, pid, {topic, {}},
                                [answer](absl::StatusOr<Payload> got) {
                                  *answer = got.ok() ? got->bytes : "failed";
                                });
    world.Settle();
    return *answer;
  }
  std::string Call(const Pid& pid, const std::string& topic) {
    return CallIn(world, pid, topic);
  }
  void Restart() { world.Restart(/*keep_cache=*/false, Options()); }

  DurableWorld world;
  std::vector<std::string> errors;
};

TEST_F(Replay, CoroutineGoesOnWhereItWas) {
  const Pid saga = New("saga", "in");
  Restart();
  world.Tell(saga, "go");
  Restart();
  world.Elapse(50 * kMs);
  EXPECT_EQ(Charge(), 0u);
  Restart();
  world.Elapse(60 * kMs);
  Restart();
  EXPECT_EQ(Charge(), 1u);
  Restart();
  EXPECT_EQ(Charge(), 0u) << "it was charged before";
  const std::string seen = Call(saga, "report");
  EXPECT_TRUE(seen.starts_with("in ") && seen.ends_with(" paid m:hello"))
      << seen;
  Restart();
  const auto outcome = world.Await(saga);
  world.Tell(saga, "end");
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  // Also the random number and the time.
  EXPECT_EQ((**outcome)->result.bytes, seen);
  EXPECT_TRUE(errors.empty()) << errors.front();
}

TEST_F(Replay, ChildrenAreNotStartedAgain) {
  const Pid saga = New("saga");
  world.Tell(saga, "go");
  world.Elapse(101 * kMs);
  EXPECT_EQ(Charge(), 1u);
  EXPECT_EQ(world.runtime().durable->live(), 2u);
  Restart();
  EXPECT_EQ(world.runtime().durable->live(), 2u);
  EXPECT_TRUE(Call(saga, "report").ends_with(" m:hello"));
}

TEST_F(Replay, EventsKeepTheirOrder) {
  const Pid diary = New("diary");
  // In one step: a call has no position in the journal, and messages have one.
  std::string answer;
  world.runtime().calls.Begin(
      Owner::kAny, diary, {"get", {}},
      [&answer](absl::StatusOr<Payload> got) { answer = got->bytes; });
  EXPECT_TRUE(world.Send(diary, "a", "").status.ok());
  world.runtime().calls.Begin(Owner::kAny, diary, {"get", {}},
                              [](const absl::StatusOr<Payload>&) {});
  EXPECT_TRUE(world.Send(diary, "b", "").status.ok());
  EXPECT_TRUE(world.Send(diary, "c", "").status.ok());
  world.Settle();
  EXPECT_EQ(answer, "get,");
  Restart();
  EXPECT_EQ(Call(diary, "get"), "get,a,get,b,c,get,");
  EXPECT_TRUE(errors.empty()) << errors.front();
}

TEST_F(Replay, ProcessThatDiffersIsInQuarantineAndOthersAreNot) {
  const Pid saga = New("saga");
  const Pid diary = New("diary");
  world.Tell(saga, "go");
  world.Elapse(101 * kMs);
  world.Tell(diary, "a");
  Saga::command = "payment.refund";
  Restart();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("step 3 differs from its record"), std::string::npos)
      << errors[0];
  EXPECT_EQ(Call(diary, "get"), "a,get,");
  EXPECT_EQ(Charge(), 0u);
  // With the code that wrote the journal it goes on.
  Saga::command = "payment.charge";
  Restart();
  EXPECT_EQ(Charge(), 1u);
  EXPECT_TRUE(Call(saga, "report").ends_with(" paid m:hello"));
}

TEST_F(Replay, InitThatRefusesIsTold) {
  auto told = world.Submit("refuse", "", true, "saga");
  world.Settle();
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ((*told)->status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Replay, ImageCutsTheHistory) {
  for (const char* type : {"album", "diary"}) {
    SCOPED_TRACE(type);
    const Pid pid = New(type);
    constexpr size_t kCalls = 50;
    for (size_t i = 0; i < kCalls; ++i) {
      // Such an event is whole in the record of its step.
      world.runtime().calls.Begin(Owner::kAny, pid,
                                  {"x", {std::string(2'000, 'p'), ""}},
                                  [](const absl::StatusOr<Payload>&) {});
      world.Settle();
    }
    Diary::steps = 0;
    Restart();
    EXPECT_EQ(Call(pid, "get").size(), 2 * kCalls + 4);
    if (std::string_view(type) == "album") {
      EXPECT_LT(Diary::steps, 30u);
    } else {
      EXPECT_GE(Diary::steps, kCalls);
    }
    EXPECT_TRUE(errors.empty()) << errors.front();
  }
}

TEST_F(Replay, HistoryWithoutAnImageEndsAtItsLimit) {
  world.Stop();
  RuntimeOptions options = Options();
  options.durable.max_history_steps = 20;
  std::vector<std::string> warnings;
  options.log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::kWarning) warnings.emplace_back(text);
  };
  ASSERT_EQ(world.Start(options), absl::OkStatus());
  const Pid diary = New("diary");
  const auto outcome = world.Await(diary);
  for (int i = 0; i < 19; ++i) {
    EXPECT_TRUE(warnings.empty() || i >= 4) << warnings.front();
    world.Tell(diary, "x");
  }
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("store.max_history_steps"), std::string::npos);
  world.Tell(diary, "x");
  world.Send(diary, "x", "");
  world.Settle();
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->value().kind, EndKind::kLimit);
}

TEST_F(Replay, GoesOnWhereverTheProgramEnds) {
  for (uint64_t at = 0; at < 45; at += 4) {
    SCOPED_TRACE(at);
    DurableWorld other;
    other.more_types = world.more_types;
    ASSERT_TRUE(other.Start(Options()).ok());
    auto told = other.Submit("in", "saga", true, "saga");
    other.Settle();
    ASSERT_TRUE(told->has_value() && (*told)->ok());
    const Pid saga = ***told;
    other.disk.CrashAt(other.disk.calls() + at);
    for (int round = 0; round < 3; ++round) {
      // Each round asks for everything. A request that has been carried out has
      // no effect.
      if (round != 0) {
        other.Reboot(round == 1);
        ASSERT_TRUE(other.Start(Options()).ok());
        other.Settle();
      }
      other.Send(saga, "go", "");
      other.Settle();
      if (!other.disk.has_crashed()) other.Elapse(200 * kMs);
      if (!other.disk.has_crashed()) {
        TaskTable& tasks = other.runtime().tasks;
        struct Deaf final : TaskListener {
          void Wake() override {}
        };
        const RemoteWorkerId worker = tasks.Open(
            {"payment.*"}, "till", Owner::kAny, std::make_shared<Deaf>());
        EXPECT_TRUE(tasks.AddCredits(worker, 10));
        // Behind the lease of an attempt that the crash has lost.
        other.Pass(60 * kSecond);
        tasks.HandleDue();
        for (const TaskAttempt& task : tasks.Take(worker, false, {}).tasks) {
          tasks.Complete(task.token, {{}, {"paid", ""}});
        }
        other.Settle();
      }
    }
    const std::string answer = CallIn(other, saga, "report");
    EXPECT_TRUE(answer.starts_with("in ") && answer.ends_with(" paid m:hello"))
        << answer;
    EXPECT_TRUE(errors.empty()) << errors.front();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(EventsOf, RefusesAnOrderThatContradictsTheEvents) {
  StepOfHistory step;
  step.consumed.resize(1);
  step.consumed[0].mail.body.emplace();
  const actord_event whole{};
  EXPECT_TRUE(EventsOf(step, {&whole}).ok());
  step.step.order = "\3";
  EXPECT_FALSE(EventsOf(step, {&whole}).ok());
  step.step.order = std::string(1, '\0');
  EXPECT_FALSE(EventsOf(step, {&whole}).ok());
  step.step.order = "\2";
  const auto events = EventsOf(step, {&whole});
  ASSERT_TRUE(events.ok());
  EXPECT_EQ((*events)[1].type, uint32_t{ACTORD_EVENT_MESSAGE});
}

}  // namespace
}  // namespace actord::runtime
