// Each watch of an end is told exactly once, behind the last messages.
#include "runtime/actors/ties.h"

#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Watched : public ToldTest {
 protected:
  void Start(RuntimeOptions options = {}) {
    ToldTest::Start(std::move(options));
    Begin("watcher");
    Begin("watched");
  }
  Tag Monitor(const std::string& who, const std::string& whom) {
    Tag tag = 0;
    Do(who, [&](StepOutput& out) { tag = out.Monitor(PidOf(whom)); });
    return tag;
  }
  void Link(const std::string& who, const std::string& whom) {
    Do(who, [&](StepOutput& out) { out.Link(PidOf(whom)); });
  }
  void Fail(const std::string& who) {
    Do(who, [](StepOutput& out) { out.Fail(Code::kAborted, "broken"); });
  }
  void Finish(const std::string& who) {
    Do(who, [](StepOutput& out) { out.Done("result"); });
  }
  static std::string Exit(const std::string& who, Tag tag,
                          const std::string& rest) {
    return "x:" + who + ":" + std::to_string(tag) + ":" + rest;
  }
};

TEST_F(Watched, AMonitorIsToldTheResult) {
  Start();
  const Tag tag = Monitor("watcher", "watched");
  Finish("watched");
  EXPECT_THAT(Told("watcher"), ElementsAre(Exit("watched", tag, "1:0:result")));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(Watched, AMonitorIsToldEachKindOfFailure) {
  Start();
  const Tag first = Monitor("watcher", "watched");
  Fail("watched");
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("watched", first, "2:10:broken")));
  Begin("watched");
  const Tag second = Monitor("watcher", "watched");
  Do("watched", [](StepOutput&) { throw std::runtime_error("oops"); });
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("watched", second, "3:13:Step threw: oops")));
  Begin("watched");
  const Tag third = Monitor("watcher", "watched");
  ASSERT_TRUE(core()
                  .delivery
                  .Control(Owner::kAny, pids_["watched"], ACTORD_EVENT_CANCEL,
                           "please", core().lane)
                  .ok());
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("watched", third, "5:1:please")));
  Begin("watched");
  const Tag fourth = Monitor("watcher", "watched");
  Terminate("watched");
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("watched", fourth, "6:10:by the test")));
}

TEST_F(Watched, AMonitorOfAnEndedProcessFiresAtOnce) {
  Start();
  Finish("watched");
  const Tag tag = Monitor("watcher", "watched");
  EXPECT_THAT(Told("watcher"),
              ElementsAre(HasSubstr(Exit("watched", tag, "7:5:there is no"))));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(Watched, EachMonitorFiresForItself) {
  Start();
  const Tag first = Monitor("watcher", "watched");
  const Tag second = Monitor("watcher", "watched");
  Finish("watched");
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("watched", first, "1:0:result"),
                          Exit("watched", second, "1:0:result")));
}

TEST_F(Watched, ADemonitorTakesItsMonitorAway) {
  Start();
  const Tag first = Monitor("watcher", "watched");
  const Tag second = Monitor("watcher", "watched");
  Do("watcher", [&](StepOutput& out) {
    out.Demonitor(first);
    out.Demonitor(second + 100);
  });
  Finish("watched");
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("watched", second, "1:0:result")));
}

TEST_F(Watched, AStepThatFailsHasWatchedNobody) {
  Start();
  Do("watcher", [&](StepOutput& out) {
    (void)out.Monitor(PidOf("watched"));
    out.Link(PidOf("watched"));
    out.Fail(Code::kAborted, "by intention");
  });
  EXPECT_EQ(core().ties.size(), 0u);
  EXPECT_TRUE(Lives("watched"));
}

TEST_F(Watched, TheWatchersEndTakesItsWatchesAway) {
  Start();
  Monitor("watcher", "watched");
  Finish("watcher");
  EXPECT_EQ(core().ties.size(), 0u);
  Finish("watched");
}

// The messages of the last step, and all earlier ones, come first.
TEST_F(Watched, TheExitComesBehindTheLastMessages) {
  Start();
  const Tag tag = Monitor("watcher", "watched");
  Do("watched", [&](StepOutput& out) { out.Send(PidOf("watcher"), "1"); });
  Do("watched", [&](StepOutput& out) {
    out.Send(PidOf("watcher"), "2");
    out.Done();
    out.Send(PidOf("watcher"), "3");
  });
  EXPECT_THAT(
      Told("watcher"),
      ElementsAre("m:1:", "m:2:", "m:3:", Exit("watched", tag, "1:0:")));
}

TEST_F(Watched, TheExitWaitsWhileItsWatcherBlocks) {
  Start();
  const Tag tag = Monitor("watcher", "watched");
  Tag sleep = 0;
  Do("watcher", [&](StepOutput& out) {
    sleep = out.Yield("sleep", "1000");
    out.Block();
  });
  Finish("watched");
  EXPECT_THAT(Told("watcher"), IsEmpty());
  Pass(20'000'000);
  EXPECT_THAT(Told("watcher"),
              ElementsAre("c:0:", Exit("watched", tag, "1:0:result")));
}

TEST_F(Watched, NoLimitOfTheMailboxRefusesAnExit) {
  RuntimeOptions options;
  options.max_mailbox_messages = 1;
  Start(options);
  const Tag tag = Monitor("watcher", "watched");
  Tag sleep = 0;
  Do("watcher", [&](StepOutput& out) {
    sleep = out.Yield("sleep", "1000");
    out.Block();
  });
  core_->Send(pids_["watcher"], -1, "fills");
  Finish("watched");
  Pass(20'000'000);
  EXPECT_THAT(
      Told("watcher"),
      ElementsAre("c:0:", "m:fills:", Exit("watched", tag, "1:0:result")));
}

TEST_F(Watched, AResultThatFindsNoRoomIsLeftOutAndTheExitSaysSo) {
  RuntimeOptions options;
  options.max_mailbox_bytes = 20'000;
  options.max_payload_bytes = 10'000;
  Start(options);
  const Tag tag = Monitor("watcher", "watched");
  Do("watcher", [&](StepOutput& out) {
    (void)out.Yield("sleep", "1000");
    out.Block();
  });
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(
        core().delivery.Send(
            Owner::kAny, pids_["watcher"],
            core().lane.NewEnvelope(ACTORD_EVENT_MESSAGE, "big",
                                    ToAbi(Payload{std::string(8000, 'x'), ""})),
            core().lane),
        Delivery::Result::kDelivered);
  }
  Do("watched", [](StepOutput& out) { out.Done(std::string(9000, 'y')); });
  Pass(20'000'000);
  const std::vector<std::string> told = Told("watcher");
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[3], Exit("watched", tag,
                          "1:8:its result of 9000 bytes finds no room in the "
                          "mailbox"));
}

TEST_F(Watched, ALinkPassesAFailureOnAndNamesTheFirst) {
  Start();
  Link("watcher", "watched");
  Fail("watched");
  EXPECT_FALSE(Lives("watcher"));
  const auto outcome = OutcomeOf("watcher");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, EndKind::kFailed);
  EXPECT_EQ(outcome->code, absl::StatusCode::kAborted);
  EXPECT_EQ(outcome->message,
            "process " + FormatPid(pids_["watched"]) +
                ", to which it is linked, has failed: broken");
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(Watched, ALinkIsTheSameForBothAndReachesTheBlocked) {
  Start();
  Link("watcher", "watched");
  Do("watched", [](StepOutput& out) {
    (void)out.Yield("ext");
    out.Block();
  });
  Terminate("watcher");
  EXPECT_FALSE(Lives("watched"));
}

TEST_F(Watched, AFailureGoesOnFromLinkToLink) {
  Start();
  Begin("third");
  Link("watcher", "watched");
  Link("watched", "third");
  Fail("watcher");
  EXPECT_FALSE(Lives("watched"));
  EXPECT_FALSE(Lives("third"));
}

TEST_F(Watched, AnEndByDoneIsNoFailure) {
  Start();
  Link("watcher", "watched");
  Finish("watched");
  EXPECT_TRUE(Lives("watcher"));
  EXPECT_THAT(Told("watcher"), IsEmpty());
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(Watched, ProcessThatTrapsExitsIsToldInstead) {
  Start();
  Begin("trapper", "trapping");
  Link("trapper", "watched");
  Link("watcher", "trapper");
  Finish("watched");
  Fail("watcher");
  EXPECT_THAT(Told("trapper"), ElementsAre(Exit("watched", 0, "1:0:result"),
                                           Exit("watcher", 0, "2:10:broken")));
  EXPECT_TRUE(Lives("trapper"));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(Watched, AnUnlinkFromEitherSideUnties) {
  Start();
  Link("watcher", "watched");
  Link("watcher", "watched");
  Do("watched", [&](StepOutput& out) { out.Unlink(PidOf("watcher")); });
  EXPECT_EQ(core().ties.size(), 0u);
  Fail("watched");
  EXPECT_TRUE(Lives("watcher"));
}

TEST_F(Watched, ALinkToAnEndedProcessIsAFailure) {
  Start();
  Begin("trapper", "trapping");
  Finish("watched");
  Link("trapper", "watched");
  EXPECT_THAT(Told("trapper"),
              ElementsAre(HasSubstr(Exit("watched", 0, "7:5:there is no"))));
  Link("watcher", "watched");
  EXPECT_FALSE(Lives("watcher"));
}

TEST_F(Watched, AChildIsWatchedFromItsBeginning) {
  Start();
  Tag tag = 0;
  Do("watcher", [&](StepOutput& out) {
    // It is refused before it lives.
    (void)out.Spawn("unknown", {}, {}, {.monitor = &tag});
  });
  const std::vector<std::string> told = Told("watcher");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr(":" + std::to_string(tag) + ":4:5:"));
  EXPECT_NE(tag, 0u);
  Do("watcher", [&](StepOutput& out) {
    (void)out.Spawn("unknown", {}, {}, {.link = true});
  });
  EXPECT_FALSE(Lives("watcher"));
}

TEST_F(Watched, ASpawnOfAStepHasNoName) {
  Start();
  Do("watcher", [&](StepOutput& out) {
    // The C++ layer has no such spawn.
    struct Step : StepOutput {
      static actord_step* Of(const StepOutput& out) {
        return out.*(&Step::step_);
      }
    };
    actord_step* const step = Step::Of(out);
    const actord_spawn spawn =
        actord::detail::MakeSpawn("script", {}, {}, {.name = "taken"});
    (void)step->api->spawn(step, &spawn);
  });
  EXPECT_FALSE(Lives("watcher"));
  EXPECT_THAT(OutcomeOf("watcher")->message, HasSubstr("process.spawn"));
  EXPECT_EQ(core().Stats().processes_started, 2u);
}

TEST_F(Watched, TheLimitOfWatchesCountsExitsThatWereNotSeen) {
  Start();
  Do("watcher", [&](StepOutput& out) {
    for (size_t i = 0; i < 60'000; ++i) (void)out.Monitor(PidOf("watched"));
  });
  Do("watcher", [&](StepOutput& out) {
    for (size_t i = 0; i < 40'000; ++i) (void)out.Monitor(PidOf("watched"));
    (void)out.Yield("sleep", "1000");
    out.Block();
  });
  ASSERT_TRUE(Lives("watcher"));
  Finish("watched");
  const uint64_t word = core_->process(pids_["watcher"]).activity;
  EXPECT_EQ(Activity::Messages(word), 100'000u);
  Begin("other");
  // A process that traps exits gets an exit that says that there is no room,
  // although no place for an exit is left.
  Begin("trapper", "trapping");
  Link("trapper", "watcher");
  EXPECT_THAT(Told("trapper"),
              ElementsAre(HasSubstr(Exit("watcher", 0, "8:8:process"))));
  Pass(20'000'000);
  EXPECT_EQ(Told("watcher").size(), 100'001u);
  EXPECT_EQ(core().ties.size(), 0u);
  Do("watcher", [&](StepOutput& out) {
    for (size_t i = 0; i < 65'000; ++i) (void)out.Monitor(PidOf("other"));
  });
  Do("watcher", [&](StepOutput& out) {
    for (size_t i = 0; i < 35'001; ++i) (void)out.Monitor(PidOf("other"));
  });
  EXPECT_FALSE(Lives("watcher"));
  EXPECT_THAT(OutcomeOf("watcher")->message, HasSubstr("100000"));
}

// More links end at once than the word has room to count.
TEST_F(Watched, AFloodOfLinkedEndsIsCountedOnce) {
  Start();
  constexpr size_t kLinks = 40'000;
  std::vector<Pid> children;
  Do("watcher", [&](StepOutput& out) {
    for (size_t i = 0; i < kLinks; ++i) {
      children.push_back(FromAbi(out.Spawn("script", {}, {}, {.link = true})));
    }
    // Its turn lasts until all of them have been refused: a script needs an
    // input.
  });
  EXPECT_FALSE(Lives("watcher"));
  for (const Pid& child : children) {
    EXPECT_EQ(core().processes.Find(child), nullptr);
  }
  EXPECT_EQ(core().ties.size(), 0u);
}

}  // namespace
}  // namespace actord::runtime
