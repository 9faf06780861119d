// The yields that a process may adopt in Restore after a restart.
#include <actord/process.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "handlers/schedule/schedule.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

// Has a payment charged for each `charge`, and adopts these in Restore. The
// call `get` is answered with the completions that it has had, behind the
// answers of AdoptYield. `fill` makes the history long enough for an image.
template <bool kIsReplayed>
class Payer : public actord::Process {
 public:
  static constexpr const char* kName = kIsReplayed ? "replayed" : "payer";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability =
      kIsReplayed ? actord::Durability::kReplay : actord::Durability::kImage;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_completion()) {
        seen_ += "c" + std::to_string(event.tag());
      } else if (event.topic() == "charge") {
        last_ = out.Yield("payment.charge", event.payload().bytes);
      } else if (event.topic() == "get") {
        out.Reply(event.call(), seen_);
      }
    }
  }
  actord::SnapshotResult Snapshot() const {
    return std::to_string(last_) + " " + seen_;
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
    const std::string_view text = from.snapshot.bytes;
    std::from_chars(text.data(), text.data() + text.size(), last_);
    seen_ = text.substr(text.find(' ') + 1);
    // The tags up to the next one.
    for (actord::Tag tag = 1; tag <= last_ + 1; ++tag) {
      seen_ += context.AdoptYield(tag) ? "y" : "n";
    }
    return actord::Status::Ok();
  }

 private:
  actord::Tag last_ = 0;
  std::string seen_;
};

// A volatile process that does not begin.
class Refuser : public actord::Process {
 public:
  static constexpr const char* kName = "refuser";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  actord::Status Init(std::string_view /*method*/, actord::Payload /*input*/) {
    return {actord::Code::kUnavailable, "not today"};
  }
  void Step(actord::Events /*events*/, actord::StepOutput& /*out*/) {}
};

class RestoredYields : public ::testing::Test {
 protected:
  void SetUp() override {
    world.more_types = {&actord::kProcessType<Payer<false>>,
                        &actord::kProcessType<Payer<true>>,
                        &actord::kProcessType<Refuser>,
                        &actord::kProcessType<handlers::Schedule>};
    ASSERT_EQ(world.Start(Options()), absl::OkStatus());
  }
  static RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"payment.*"};
    return options;
  }
  // Takes all tasks, and answers the first `count`. Nothing runs afterwards.
  void Charge(size_t count, Owner by = Owner::kAny) {
    struct Deaf final : TaskListener {
      void Wake() override {}
    };
    TaskTable& tasks = world.runtime().tasks;
    const RemoteWorkerId worker =
        tasks.Open({"payment.*"}, "till", by, std::make_shared<Deaf>());
    ASSERT_TRUE(tasks.AddCredits(worker, 10));
    const auto batch = tasks.Take(worker, false, {});
    world.Settle();
    ASSERT_GE(batch.tasks.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(tasks.Complete(batch.tasks[i].token, {{}, {"paid", ""}}),
                CompleteAnswer::kAccepted);
    }
  }
  static constexpr Owner kWorker{7};
  // The answer of the first attempt.
  CompleteAnswer Answer(const Pid& pid, uint64_t tag) {
    return world.runtime().tasks.Complete({{pid, tag}, 1}, {{}, {"paid", ""}});
  }
  // Syncs the records, without a turn.
  void Sync() {
    while (world.store->Work()) {
    }
  }

  bool IsCompletionWaiting(const Pid& pid) {
    const FoundProcess found = world.runtime().processes.FindAwake(pid);
    return found && Activity::Urgent(found->activity.load()) != 0;
  }
  std::string Show(const Pid& schedule) {
    auto answer = std::make_shared<std::string>("no answer");
    world.runtime().calls.Begin(Owner::kAny, schedule, {"show", {}},
                                [answer](absl::StatusOr<Payload> got) {
                                  *answer = got.ok() ? got->bytes : "failed";
                                });
    world.Settle();
    return *answer;
  }

  DurableWorld world;
};

TEST_F(RestoredYields, CompletionThatWaitsInTheMailboxCanBeAdopted) {
  const Pid payer = world.NewPuppet("payer");
  world.Tell(payer, "charge", "5");
  world.Tell(payer, "charge", "6");
  Charge(1);
  Sync();
  world.Restart(/*keep_cache=*/true, Options());
  EXPECT_EQ(world.NotesOf(payer), "yync1");
}

TEST_F(RestoredYields, AnAnswerBeforeTheProcessRunsAgainIsNotLost) {
  const Pid payer = world.NewPuppet("payer");
  world.Tell(payer, "charge", "5");
  Charge(0);
  world.Settle();
  world.Stop();
  ASSERT_EQ(world.Start(Options()), absl::OkStatus());
  EXPECT_EQ(Answer(payer, 1), CompleteAnswer::kNotRestored);
  EXPECT_EQ(Answer(payer, 2), CompleteAnswer::kUnknown);
  const absl::Status later = world.runtime().NotRestored(payer);
  EXPECT_EQ(ReasonOf(later), reason::kNotRestored);
  EXPECT_EQ(RetryDelayOf(later), absl::Milliseconds(100));
  world.Settle();
  EXPECT_EQ(Answer(payer, 1), CompleteAnswer::kAccepted);
  EXPECT_EQ(world.NotesOf(payer), "ync1");
}

TEST_F(RestoredYields, AnAnswerToAProcessInQuarantineIsNotUnknown) {
  const Pid payer = world.NewPuppet("payer");
  const Pid other = world.NewPuppet("payer");
  world.Tell(payer, "charge", "5");
  world.Tell(other, "charge", "6");
  Charge(0, kWorker);
  world.Settle();
  const auto types = std::exchange(world.more_types, {});
  world.Stop();
  ASSERT_EQ(world.Start(Options()), absl::OkStatus());
  world.Settle();
  EXPECT_EQ(Answer(payer, 1), CompleteAnswer::kNotRestored);
  TaskTable& tasks = world.runtime().tasks;
  EXPECT_EQ(tasks.FateOf({payer, 1}), YieldFate::kWaiting);
  EXPECT_EQ(tasks.CommandOf({payer, 1}), "payment.charge");
  EXPECT_TRUE(tasks.MayAnswer({payer, 1}, Owner::kNobody));
  EXPECT_TRUE(tasks.MayAnswer({payer, 1}, kWorker));
  EXPECT_FALSE(tasks.MayAnswer({payer, 1}, Owner{8}));
  const absl::Status refused = world.runtime().NotRestored(payer);
  EXPECT_EQ(ReasonOf(refused), reason::kProcessQuarantined);
  EXPECT_FALSE(RetryDelayOf(refused).has_value());
  EXPECT_TRUE(world.runtime()
                  .Control(Owner::kAny, other, kEventTerminate, "enough")
                  .status.ok());
  world.Settle();
  EXPECT_EQ(Answer(other, 1), CompleteAnswer::kExpired);
  EXPECT_TRUE(world.runtime().tasks.MayAnswer({other, 1}, kWorker));
  world.more_types = types;
  world.Stop();
  ASSERT_EQ(world.Start(Options()), absl::OkStatus());
  world.Settle();
  EXPECT_EQ(Answer(payer, 1), CompleteAnswer::kAccepted);
  EXPECT_EQ(world.NotesOf(payer), "ync1");
}

TEST_F(RestoredYields, CompletionThatAStepBehindTheImageHasSeenCanBeAdopted) {
  const Pid payer = world.NewPuppet("replayed");
  world.Tell(payer, "charge", "5");
  world.Tell(payer, "charge", "6");
  // With the next step the history is long enough for an image.
  world.Tell(payer, "fill", std::string(70'000, 'x'));
  world.Tell(payer, "next");
  world.Tell(payer, "charge", "7");
  Charge(1);
  world.Settle();
  world.Restart(/*keep_cache=*/true, Options());
  EXPECT_EQ(world.NotesOf(payer), "yync1");
}

TEST_F(RestoredYields, ScheduleCountsAFailureWhereverTheDaemonEnds) {
  bool was_waiting = false;
  for (int turns = 0; turns < 12; ++turns) {
    SCOPED_TRACE(turns);
    const auto told = world.Submit(
        R"({"every_ms": 10000, "catch_up": "skip", "grace_ms": 1000,
            "submit": {"type": "refuser"}})",
        "", true, handlers::Schedule::kName);
    world.Settle();
    ASSERT_TRUE(told->has_value() && (*told)->ok()) << (*told)->status();
    const Pid schedule = ***told;
    world.Pass(10 * kSecond + kMs);
    world.core->WakeAll();
    for (int i = 0; i < turns; ++i) {
      world.Turns(1);
      Sync();
    }
    was_waiting |= IsCompletionWaiting(schedule);
    world.Restart(/*keep_cache=*/true, Options());
    world.Elapse(10 * kMs);
    EXPECT_THAT(Show(schedule), ::testing::HasSubstr(R"("failures":1)"));
    ASSERT_TRUE(world.runtime()
                    .Control(Owner::kAny, schedule, kEventTerminate, "")
                    .status.ok());
    world.Settle();
  }
  EXPECT_TRUE(was_waiting) << "no end was between the failure and its step";
}

}  // namespace
}  // namespace actord::runtime
