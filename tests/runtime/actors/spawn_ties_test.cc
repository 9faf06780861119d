// Children that a handler starts for a process and ties to it, and processes
// that a handler ends.
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using actord::testing::Call;
using actord::testing::InputOf;
using actord::testing::Script;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SpawnTies : public ToldTest {
 protected:
  // "spawn" starts `child_` with `flags`.
  void Start(const std::string& parent_type = "trapping") {
    ToldTest::Start();
    core_->AddCommand("spawn", ACTORD_HANDLER_INLINE, [this](Call& call) {
      actord_spawn spawn{};
      spawn.struct_size = sizeof(spawn);
      spawn.flags = flags_ | ACTORD_SPAWN_PRIORITY;
      spawn.priority = child_priority_;
      spawn.process_type = ToAbi(std::string_view(child_type_));
      const std::string input = InputOf(child_);
      spawn.input.bytes = ToAbi(std::string_view(input));
      const actord_pid from = call.from();
      completion_ = call.Defer();
      host()->spawn(host(), &from, &spawn, completion_);
      if (after_spawn_) after_spawn_();
      return ACTORD_DEFERRED;
    });
    child_.step = [this](Events events, StepOutput& out) {
      ++child_steps_;
      for (const Event event : events) {
        if (event.is_message()) out.Fail(Code::kAborted, "broken");
      }
    };
    Begin("parent", parent_type);
  }
  const actord_host* host() { return core().host.abi(); }
  // The tag of the yield.
  Tag Spawn(uint32_t flags) {
    flags_ = flags;
    Tag tag = 0;
    Do("parent", [&](StepOutput& out) { tag = out.Yield("spawn"); });
    return tag;
  }
  // The PID that the completion brings; other events stay.
  void TakeChild() {
    const std::vector<std::string> told = Told("parent");
    ASSERT_EQ(told.size(), 1u);
    const absl::StatusOr<Pid> pid = ParsePid(told[0].substr(4));
    ASSERT_TRUE(pid.ok()) << told[0];
    pids_["child"] = *pid;
  }
  void FailChild() {
    core_->Send(pids_["child"], -1, "fail");
    core_->Settle();
  }

  Script child_;
  std::string child_type_ = "script";
  uint32_t child_priority_ = ACTORD_PRIORITY_DEFAULT;
  uint32_t flags_ = 0;
  actord_completion completion_ = 0;
  std::function<void()> after_spawn_;
  int child_steps_ = 0;
};

TEST_F(SpawnTies, ALinkTellsTheParentOfTheEnd) {
  Start();
  Spawn(ACTORD_SPAWN_LINK);
  TakeChild();
  FailChild();
  EXPECT_THAT(Told("parent"), ElementsAre("x:child:0:2:10:broken"));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(SpawnTies, ALinkEndsTheChildWithItsParent) {
  Start("script");
  Spawn(ACTORD_SPAWN_LINK);
  TakeChild();
  Terminate("parent");
  EXPECT_FALSE(Lives("child"));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(SpawnTies, AMonitorTellsWithTheTagOfTheYield) {
  Start("script");
  const Tag tag = Spawn(ACTORD_SPAWN_MONITOR);
  TakeChild();
  FailChild();
  EXPECT_THAT(Told("parent"),
              ElementsAre("x:child:" + std::to_string(tag) + ":2:10:broken"));
  EXPECT_TRUE(Lives("parent"));
}

TEST_F(SpawnTies, LinkAndMonitorEachTellOnce) {
  Start();
  const Tag tag = Spawn(ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR);
  TakeChild();
  FailChild();
  EXPECT_THAT(Told("parent"),
              ::testing::UnorderedElementsAre(
                  "x:child:0:2:10:broken",
                  "x:child:" + std::to_string(tag) + ":2:10:broken"));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(SpawnTies, AnInitThatRefusesIsToldByTheCompletionAlone) {
  Start();
  child_.init = [](std::string_view) {
    return Status(Code::kUnavailable, "not today");
  };
  Spawn(ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR);
  EXPECT_THAT(Told("parent"), ElementsAre("c:14:not today"));
  EXPECT_EQ(core().ties.size(), 0u);
}

// For a child that ends in its first step, the parent learns the PID before the
// end.
TEST_F(SpawnTies, TheEndComesBehindTheCompletion) {
  Start();
  child_.step = [](Events, StepOutput& out) {
    out.Fail(Code::kAborted, "at once");
  };
  Spawn(ACTORD_SPAWN_LINK);
  const std::vector<std::string> told = Told("parent");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0], HasSubstr("c:0:"));
  EXPECT_THAT(told[1], HasSubstr("x:?:0:2:10:at once"));
}

TEST_F(SpawnTies, AChildWhoseParentHasEndedMeanwhileIsTerminated) {
  for (const uint32_t flags : {ACTORD_SPAWN_LINK, ACTORD_SPAWN_MONITOR}) {
    Start();
    child_priority_ = 0;  // the parent's end comes first
    int inits = 0;
    child_.init = [&](std::string_view) {
      ++inits;
      return Status();
    };
    after_spawn_ = [&] {
      core()
          .delivery
          .Control(Owner::kAny, pids_["parent"], kEventTerminate, "by the test",
                   core().lane)
          .IgnoreError();
    };
    Spawn(flags);
    EXPECT_EQ(inits, 1);
    EXPECT_EQ(core().LiveProcesses(), 0u);
    EXPECT_EQ(core().ties.size(), 0u);
  }
}

TEST_F(SpawnTies, AChildWhoseCommandHasEndedMeanwhileIsTerminatedAlone) {
  Start("script");
  child_.init = [&](std::string_view) {
    const actord_payload text{{"late", 4}, {}};
    host()->complete(host(), completion_, ACTORD_DEADLINE_EXCEEDED, &text);
    return Status();
  };
  Spawn(ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR);
  EXPECT_THAT(Told("parent"), ElementsAre("c:4:late"));
  EXPECT_TRUE(Lives("parent"));
  EXPECT_EQ(core().LiveProcesses(), 1u);
  EXPECT_EQ(core().ties.size(), 0u);
  EXPECT_EQ(child_steps_, 0) << "it ends before its first step";
}

TEST_F(SpawnTies, WithoutTiesSuchAChildLivesOn) {
  Start("script");
  child_.init = [&](std::string_view) {
    host()->complete(host(), completion_, ACTORD_DEADLINE_EXCEEDED, nullptr);
    return Status();
  };
  Spawn(0);
  EXPECT_EQ(core().LiveProcesses(), 2u);
}

TEST_F(SpawnTies, AParentWithAsManyWatchesAsItMayHaveIsTold) {
  Start();
  Begin("other");
  for (size_t left = Ties::kMaxOfProcess - 1; left > 0;) {
    const size_t some = std::min<size_t>(left, 10'000);
    Do("parent", [&](StepOutput& out) {
      for (size_t i = 0; i < some; ++i) out.Monitor(PidOf("other"));
    });
    left -= some;
  }
  Spawn(ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR);
  EXPECT_THAT(Told("parent"), ElementsAre(HasSubstr("c:8:process ")));
  EXPECT_EQ(core().LiveProcesses(), 2u);
  Spawn(ACTORD_SPAWN_LINK);
  TakeChild();
  EXPECT_TRUE(Lives("child")) << "there was room for one";
}

TEST_F(SpawnTies, AHandlerAsksAndEnds) {
  Start();
  Begin("asked", "cancellable");
  const auto call = [&](auto function, const Pid& pid,
                        const std::string& reason) {
    const actord_pid abi = ToAbi(pid);
    const int32_t code =
        function(host(), &abi, ToAbi(std::string_view(reason)));
    core_->Settle();
    return code;
  };
  const Pid asked = pids_["asked"];
  EXPECT_EQ(call(host()->cancel, asked, std::string(2000, 'x')), ACTORD_OK);
  EXPECT_THAT(Told("asked"), ElementsAre("cancel:" + std::string(1024, 'x')));
  EXPECT_EQ(call(host()->cancel, asked, "again"), ACTORD_OK);
  EXPECT_THAT(Told("asked"), IsEmpty());
  EXPECT_EQ(call(host()->terminate, asked, "enough"), ACTORD_OK);
  EXPECT_EQ(OutcomeOf("asked")->kind, EndKind::kTerminated);
  EXPECT_EQ(OutcomeOf("asked")->message, "enough");
  EXPECT_EQ(call(host()->cancel, asked, ""), ACTORD_FAILED_PRECONDITION);
  EXPECT_EQ(call(host()->terminate, asked, ""), ACTORD_FAILED_PRECONDITION);
  const Pid nobody{9, 9, 9, 9};
  EXPECT_EQ(call(host()->cancel, nobody, ""), ACTORD_NOT_FOUND);
  EXPECT_EQ(call(host()->terminate, nobody, ""), ACTORD_NOT_FOUND);
}

}  // namespace
}  // namespace actord::runtime
