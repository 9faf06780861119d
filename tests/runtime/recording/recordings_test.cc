// The recorded steps of processes, and the step that a failure keeps.
#include "runtime/recording/recordings.h"

#include <stdexcept>

#include "runtime/process/errors.h"
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecordingsTest : public ToldTest {
 protected:
  void SetUp() override { Start(); }
  Recordings& recordings() { return core().recordings; }
  void Record(const std::string& name) {
    const auto begun = recordings().Begin(pids_[name], Owner::kAny);
    ASSERT_TRUE(begun.ok()) << begun.status();
  }
  std::vector<NotedStep> StepsOf(const std::string& name) {
    const auto recording = recordings().Find(pids_[name]);
    EXPECT_TRUE(recording.has_value());
    return recording ? recording->steps : std::vector<NotedStep>();
  }
  bool IsRecorded(const std::string& name) {
    return recordings().Find(pids_[name]).has_value();
  }
  bool HasBit(const std::string& name) {
    return (core_->process(pids_[name]).wanted.load() & Wanted::kRecorded) != 0;
  }
  void Fail(const std::string& name) {
    Do(name, [](StepOutput& out) { out.Fail({Code::kAborted, "no stock"}); });
  }
};

TEST_F(RecordingsTest, StepHasItsEventsItsEffectsAndItsTime) {
  Begin("a");
  Begin("b");
  Record("a");
  EXPECT_THAT(StepsOf("a"), IsEmpty());
  const uint64_t begun = core_->clock.manual.UnixNs();
  Tag yield = 0;
  Do("a", [&](StepOutput& out) {
    core_->clock.manual.AdvanceNs(7000);
    out.Send(PidOf("b"), "paid", "12345");
    yield = out.Yield("ext", "123");
    out.Link(PidOf("b"));
    out.Log(actord::LogLevel::kWarning, "text");
  });
  const std::vector<NotedStep> steps = StepsOf("a");
  ASSERT_THAT(steps, SizeIs(1));
  const NotedStep& step = steps[0];
  EXPECT_EQ(step.step, core_->process(pids_["a"]).steps.load());
  EXPECT_EQ(step.unix_ns, begun);
  EXPECT_EQ(step.took_ns, 7000u);
  EXPECT_STREQ(step.verdict, "idle");
  ASSERT_THAT(step.items, SizeIs(5));
  EXPECT_EQ(step.items[0].kind, HistoryKind::kMessage);
  EXPECT_EQ(step.items[0].name, "act");
  EXPECT_TRUE(step.items[0].peer.empty());
  EXPECT_EQ(step.items[1].kind, HistoryKind::kSend);
  EXPECT_EQ(step.items[1].name, "paid");
  EXPECT_EQ(step.items[1].peer, pids_["b"]);
  EXPECT_EQ(step.items[1].bytes, 5u);
  EXPECT_EQ(step.items[2].kind, HistoryKind::kYield);
  EXPECT_EQ(step.items[2].name, "ext");
  EXPECT_EQ(step.items[2].tag, yield);
  EXPECT_EQ(step.items[2].bytes, 3u);
  EXPECT_EQ(step.items[3].kind, HistoryKind::kLink);
  EXPECT_EQ(step.items[3].peer, pids_["b"]);
  EXPECT_EQ(step.items[4].kind, HistoryKind::kLog);
  EXPECT_EQ(step.items[4].name, "warning");
  // The effects have happened all the same, and the other process is not
  // recorded.
  EXPECT_THAT(Told("b"), ElementsAre(HasSubstr("paid")));
  EXPECT_FALSE(IsRecorded("b"));
  EXPECT_FALSE(HasBit("b"));
}

TEST_F(RecordingsTest, SpawnHasTheTypeOfTheChild) {
  Begin("a");
  Record("a");
  const actord::testing::Script idle{};
  Pid child;
  Do("a", [&](StepOutput& out) {
    child = FromAbi(out.Spawn("script", {}, actord::testing::InputOf(idle)));
    static_cast<void>(out.Spawn("no_such_type"));
  });
  const std::vector<NotedStep> steps = StepsOf("a");
  ASSERT_THAT(steps, SizeIs(1));
  ASSERT_THAT(steps[0].items, SizeIs(3));
  const NotedItem& spawn = steps[0].items[1];
  EXPECT_EQ(spawn.kind, HistoryKind::kSpawn);
  EXPECT_EQ(spawn.peer, child);
  EXPECT_EQ(spawn.name, "script");
  EXPECT_EQ(steps[0].items[2].kind, HistoryKind::kSpawn);
  EXPECT_EQ(steps[0].items[2].name, "");
}

TEST_F(RecordingsTest, NewestStepsAreKeptWithinTheirBounds) {
  Begin("a");
  Record("a");
  for (size_t i = 0; i < Recordings::kMaxSteps + 3; ++i) {
    Do("a", [](StepOutput&) {});
  }
  std::vector<NotedStep> steps = StepsOf("a");
  ASSERT_THAT(steps, SizeIs(Recordings::kMaxSteps));
  EXPECT_EQ(steps.back().step, steps.front().step + Recordings::kMaxSteps - 1);
  EXPECT_EQ(steps.back().step, core_->process(pids_["a"]).steps.load());
  const std::string large(200, 'n');
  Do("a", [&](StepOutput& out) {
    for (size_t i = 0; i < NotedStep::kMaxEffects + 5; ++i) {
      out.Send(PidOf("a"), large, "");
    }
  });
  const auto find = [this] {
    for (const NotedStep& step : StepsOf("a")) {
      if (step.effects_left_out != 0) return step;
    }
    return NotedStep{};
  };
  EXPECT_EQ(find().effects_left_out, 5u);
  EXPECT_THAT(find().items, SizeIs(1 + NotedStep::kMaxEffects));
  EXPECT_THAT(find().items[1].name, SizeIs(NotedStep::kMaxNameBytes));
  // The step that got more events than it keeps.
  uint64_t left_out = 0;
  for (const NotedStep& step : StepsOf("a")) left_out += step.events_left_out;
  EXPECT_GT(left_out, 0u);
}

TEST_F(RecordingsTest, StopDropsTheStepsAndTheBit) {
  Begin("a");
  Record("a");
  EXPECT_TRUE(HasBit("a"));
  Do("a", [](StepOutput&) {});
  const auto again = recordings().Begin(pids_["a"], Owner::kAny);
  EXPECT_TRUE(again.ok());
  EXPECT_FALSE(*again) << "the recording goes on";
  EXPECT_THAT(StepsOf("a"), SizeIs(1));
  EXPECT_TRUE(recordings().End(pids_["a"]));
  EXPECT_FALSE(recordings().End(pids_["a"]));
  EXPECT_FALSE(IsRecorded("a"));
  EXPECT_FALSE(HasBit("a"));
  Do("a", [](StepOutput&) {});
  EXPECT_FALSE(IsRecorded("a"));
}

TEST_F(RecordingsTest, OldestRecordingMakesRoom) {
  for (size_t i = 0; i <= Recordings::kMaxProcesses; ++i) {
    Begin(std::to_string(i));
    Record(std::to_string(i));
  }
  EXPECT_FALSE(IsRecorded("0"));
  EXPECT_FALSE(HasBit("0"));
  EXPECT_TRUE(IsRecorded("1"));
  EXPECT_TRUE(IsRecorded(std::to_string(Recordings::kMaxProcesses)));
}

// A client cannot end the recordings of others by many of its own.
TEST_F(RecordingsTest, OldestOfTheSameOwnerMakesRoom) {
  Begin("mine");
  core_->process(pids_["mine"]).owner = Owner{3};
  Record("mine");
  for (size_t i = 1; i < Recordings::kMaxProcesses; ++i) {
    Begin(std::to_string(i));
    Record(std::to_string(i));
  }
  Begin("another");
  Record("another");
  EXPECT_TRUE(IsRecorded("mine"));
  EXPECT_FALSE(IsRecorded("1"));
  EXPECT_TRUE(IsRecorded("2"));
}

TEST_F(RecordingsTest, EffectsOfAFailedStepAreNotRecorded) {
  Begin("a");
  Record("a");
  Do("a", [this](StepOutput& out) {
    out.Send(PidOf("a"), "never", "");
    out.Fail({Code::kAborted, "no stock"});
  });
  const auto failure = core().failures.Find(pids_["a"]);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "no stock");
  ASSERT_THAT(failure->last_steps, SizeIs(1));
  ASSERT_THAT(failure->last_steps[0].items, SizeIs(1));
  EXPECT_EQ(failure->last_steps[0].items[0].kind, HistoryKind::kMessage);
}

TEST_F(RecordingsTest, FailureKeepsTheNewestStepsWithinItsBytes) {
  Begin("a");
  Record("a");
  for (size_t i = 0; i < Recordings::kMaxSteps; ++i) {
    Do("a", [this](StepOutput& out) {
      for (int effect = 0; effect < 8; ++effect) out.Send(PidOf("a"), "x", "");
    });
  }
  Fail("a");
  const auto failure = core().failures.Find(pids_["a"]);
  ASSERT_NE(failure, nullptr);
  size_t bytes = 0;
  for (const NotedStep& step : failure->last_steps) bytes += step.ChargeBytes();
  EXPECT_LE(bytes, Failures::kMaxStepBytes);
  EXPECT_GT(bytes, Failures::kMaxStepBytes / 2);
  EXPECT_EQ(failure->last_steps.back().step, failure->steps);
}

TEST_F(RecordingsTest, EndOfTheProcessEndsTheRecording) {
  Begin("a");
  Record("a");
  Terminate("a");
  EXPECT_FALSE(IsRecorded("a"));
  EXPECT_EQ(ReasonOf(recordings().Begin(pids_["a"], Owner::kAny).status()),
            reason::kProcessEnded);
  // The next process of the slot is not recorded.
  Begin("b");
  EXPECT_FALSE(HasBit("b"));
  // A process of another owner does not exist.
  EXPECT_FALSE(recordings().Begin(pids_["b"], Owner{3}).ok());
  EXPECT_FALSE(HasBit("b"));
}

TEST_F(RecordingsTest, FailureKeepsTheStepsOfARecordedProcess) {
  Begin("a");
  Record("a");
  Do("a", [](StepOutput&) {});
  Fail("a");
  const auto failure = core().failures.Find(pids_["a"]);
  ASSERT_NE(failure, nullptr);
  ASSERT_THAT(failure->last_steps, SizeIs(2));
  EXPECT_STREQ(failure->last_steps[0].verdict, "idle");
  EXPECT_STREQ(failure->last_steps[1].verdict, "fail");
  EXPECT_FALSE(IsRecorded("a"));
}

TEST_F(RecordingsTest, FailureKeepsTheEventsOfTheStepThatHasFailed) {
  Begin("failed");
  Begin("threw");
  Fail("failed");
  Do("threw", [this](StepOutput& out) {
    out.Send(PidOf("threw"), "never", "");
    throw std::runtime_error("split tank");
  });
  for (const auto& [name, verdict] :
       {std::pair("failed", "fail"), std::pair("threw", "threw")}) {
    SCOPED_TRACE(name);
    const auto failure = core().failures.Find(pids_[name]);
    ASSERT_NE(failure, nullptr);
    ASSERT_THAT(failure->last_steps, SizeIs(1));
    const NotedStep& step = failure->last_steps[0];
    EXPECT_EQ(step.step, failure->steps);
    EXPECT_EQ(step.unix_ns, 0u);
    EXPECT_STREQ(step.verdict, verdict);
    // Its effects have not happened.
    ASSERT_THAT(step.items, SizeIs(1));
    EXPECT_EQ(step.items[0].kind, HistoryKind::kMessage);
    EXPECT_EQ(step.items[0].name, "act");
  }
}

TEST_F(RecordingsTest, FailureByAnotherProcessHasNoStepOfItsOwn) {
  Begin("first");
  Begin("linked");
  Do("linked", [this](StepOutput& out) { out.Link(PidOf("first")); });
  Fail("first");
  const auto failure = core().failures.Find(pids_["linked"]);
  ASSERT_NE(failure, nullptr);
  EXPECT_THAT(failure->last_steps, IsEmpty());
}

}  // namespace
}  // namespace actord::runtime
