// Names and groups: who holds what, and until when.
#include "runtime/actors/names.h"

#include "runtime/actors/groups.h"
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Named : public ToldTest {
 protected:
  void Start(RuntimeOptions options = {}) {
    ToldTest::Start(std::move(options));
    Begin("a");
    Begin("b");
  }
  // "": it holds it now; otherwise the reason.
  std::string Register(const std::string& name, const std::string& who) {
    Pid holder;
    const absl::Status status = core().names.Register(name, pids_[who], holder);
    if (status.ok()) return "";
    EXPECT_EQ(HolderOf(status), holder.empty() ? "" : FormatPid(holder));
    return ReasonOf(status);
  }
  std::string HolderOfName(const std::string& name) {
    const absl::StatusOr<Pid> found = core().names.Find(Owner::kNobody, name);
    if (!found.ok()) return ReasonOf(found.status());
    for (const auto& [who, pid] : pids_) {
      if (pid == *found) return who;
    }
    return FormatPid(*found);
  }
  // The answer of Submit: the reason, or "".
  std::string Submit(const std::string& name, Pid& pid,
                     const actord::testing::Script& script) {
    std::string reason = "no answer";
    SubmitRequest request{
        "script", "", {actord::testing::InputOf(script), ""}, {}};
    request.name = name;
    core().admission.Submit(request, Pid{}, true,
                            [&](absl::StatusOr<Pid> answer) {
                              reason = ReasonOf(answer.status());
                              pid = answer.value_or(Pid{});
                            });
    core_->Settle();
    return reason;
  }
};

TEST_F(Named, NearNamesAreThoseOfTheOwnerAround) {
  Start();
  Begin("c");
  EXPECT_THAT(core().names.Near(Owner::kNobody, "x"), IsEmpty());
  for (int i = 0; i < 40; ++i) {
    const std::string who = i % 2 == 0 ? "a" : "b";
    EXPECT_EQ(Register("n" + std::to_string(100 + i), who), "");
  }
  EXPECT_EQ(Register("z", "c"), "");
  const auto near = core().names.Near(Owner::kNobody, "n120");
  EXPECT_EQ(near.size(), 2 * Names::kMaxNear);
  EXPECT_EQ(near.front(), "n119");
  EXPECT_EQ(near[Names::kMaxNear], "n120");
  EXPECT_EQ(
      core().names.Near(Owner::kNobody, "zz"),
      std::vector<std::string>({"z", "n139", "n138", "n137", "n136", "n135",
                                "n134", "n133", "n132", "n131", "n130", "n129",
                                "n128", "n127", "n126", "n125"}));
  EXPECT_THAT(core().names.Near(Owner{7}, "n120"), IsEmpty());
}

TEST_F(Named, OneProcessHoldsAName) {
  Start();
  EXPECT_EQ(HolderOfName("x"), "NAME_NOT_FOUND");
  EXPECT_EQ(Register("x", "a"), "");
  EXPECT_EQ(Register("x", "a"), "") << "again is no conflict";
  EXPECT_EQ(Register("x", "b"), "NAME_TAKEN");
  EXPECT_EQ(HolderOfName("x"), "a");
}

TEST_F(Named, NameIsFreeAfterAReleaseByItsHolder) {
  Start();
  Register("x", "a");
  EXPECT_EQ(ReasonOf(core().names.Release("x", pids_["b"])), "NAME_NOT_FOUND");
  EXPECT_TRUE(core().names.Release("x", pids_["a"]).ok());
  EXPECT_EQ(HolderOfName("x"), "NAME_NOT_FOUND");
  EXPECT_EQ(Register("x", "b"), "");
}

TEST_F(Named, NameIsFreeAfterItsHoldersEnd) {
  Start();
  Register("x", "a");
  Register("y", "a");
  Terminate("a");
  EXPECT_EQ(HolderOfName("x"), "NAME_NOT_FOUND");
  EXPECT_EQ(core().names.size(), 0u);
  EXPECT_EQ(Register("x", "a"), "PROCESS_ENDED");
  EXPECT_EQ(Register("x", "b"), "");
}

// Between an end and the release of its names.
TEST_F(Named, AHolderThatCannotBeFoundHoldsNothing) {
  Start();
  Register("x", "a");
  Process& process = core_->process(pids_["a"]);
  const uint32_t generation = process.generation;
  process.generation = generation + 1;
  EXPECT_EQ(HolderOfName("x"), "NAME_NOT_FOUND");
  EXPECT_EQ(core().names.List(Owner::kAny, "", 0, 10).names.size(), 0u);
  EXPECT_EQ(Register("x", "b"), "");
  process.generation = generation;
  Terminate("a");
  EXPECT_EQ(HolderOfName("x"), "b");
}

TEST_F(Named, WatcherOfTheEndFindsTheNameFree) {
  Start();
  Register("x", "a");
  size_t held = 1;
  pids_["watcher"] = core_->Submit([&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_message()) (void)out.Monitor(PidOf("a"));
      // Counts names, because a look-up never finds an ended process.
      if (event.is_exit()) held = core().names.size();
    }
  });
  core_->Send(pids_["watcher"], -1);
  core_->Settle();
  Terminate("a");
  EXPECT_EQ(held, 0u);
}

TEST_F(Named, NamesAreOfAStatedAlphabet) {
  Start();
  EXPECT_EQ(Register(std::string(128, 'x'), "a"), "");
  EXPECT_EQ(Register("aZ0_.-/:", "a"), "");
  for (const std::string& bad :
       {std::string(), std::string(129, 'x'), std::string("a b"),
        std::string("@a"), std::string("\xc3\xa4"), std::string("a\0", 2)}) {
    EXPECT_EQ(Register(bad, "a"), "INVALID_FIELD") << bad;
  }
}

TEST_F(Named, AProcessHoldsALimitedNumberOfNames) {
  Start();
  for (size_t i = 0; i < Names::kMaxOfProcess; ++i) {
    EXPECT_EQ(Register("x" + std::to_string(i), "a"), "");
  }
  Pid holder;
  EXPECT_TRUE(absl::IsResourceExhausted(
      core().names.Register("more", pids_["a"], holder)));
  EXPECT_EQ(Register("more", "b"), "");
}

TEST_F(Named, TheListHasPages) {
  Start();
  for (const char* name : {"q/1", "p", "q/2", "q/3"}) Register(name, "a");
  NamePage page = core().names.List(Owner::kAny, "q/", 0, 2);
  ASSERT_EQ(page.names.size(), 2u);
  EXPECT_EQ(page.names[0].name, "q/1");
  EXPECT_EQ(page.names[1].name, "q/2");
  EXPECT_EQ(page.names[1].pid, pids_["a"]);
  ASSERT_NE(page.next_sequence, 0u);
  page = core().names.List(Owner::kAny, "q/", page.next_sequence, 2);
  ASSERT_EQ(page.names.size(), 1u);
  EXPECT_EQ(page.names[0].name, "q/3");
  EXPECT_EQ(page.next_sequence, 0u);
}

TEST_F(Named, ASubmitGivesItsNameOrStartsNothing) {
  Start();
  Pid first;
  Pid second;
  EXPECT_EQ(Submit("x", first, {}), "");
  EXPECT_EQ(core().names.Find(Owner::kNobody, "x").value(), first);
  const uint64_t started = core().Stats().processes_started;
  EXPECT_EQ(Submit("x", second, {}), "NAME_TAKEN");
  EXPECT_EQ(Submit("no name", second, {}), "INVALID_FIELD");
  EXPECT_EQ(core().Stats().processes_started, started);
}

TEST_F(Named, AnInitThatRefusesKeepsNoName) {
  Start();
  Pid pid;
  EXPECT_EQ(Submit("x", pid,
                   {.init =
                        [](std::string_view) {
                          return Status(Code::kAborted, "no");
                        }}),
            "INIT_REFUSED");
  EXPECT_EQ(core().names.size(), 0u);
}

TEST_F(Named, NameIsFreeWhenTheRefusalIsTold) {
  Start();
  const actord::testing::Script script{
      .init = [](std::string_view) { return Status(Code::kAborted, "no"); }};
  SubmitRequest request{
      "script", "", {actord::testing::InputOf(script), ""}, {}};
  request.name = "x";
  std::string holder;
  core().admission.Submit(
      request, Pid{}, true,
      [&](const absl::StatusOr<Pid>&) { holder = HolderOfName("x"); });
  core_->Settle();
  EXPECT_EQ(holder, "NAME_NOT_FOUND");
}

TEST_F(Named, GroupsHaveMembersUntilTheirEnd) {
  Start();
  Groups& groups = core().groups;
  EXPECT_TRUE(groups.Join("g", pids_["b"]).ok());
  EXPECT_TRUE(groups.Join("g", pids_["a"]).ok());
  EXPECT_TRUE(groups.Join("g", pids_["a"]).ok());
  EXPECT_THAT(groups.Members(Owner::kNobody, "g"),
              ElementsAre(pids_["a"], pids_["b"]));
  EXPECT_EQ(ReasonOf(groups.Join("no name", pids_["a"])), "INVALID_FIELD");
  EXPECT_TRUE(groups.Leave("g", pids_["a"]).ok());
  EXPECT_TRUE(absl::IsNotFound(groups.Leave("g", pids_["a"])));
  Terminate("b");
  EXPECT_THAT(groups.Members(Owner::kNobody, "g"), IsEmpty());
  EXPECT_EQ(groups.size(), 0u);
  EXPECT_EQ(ReasonOf(groups.Join("g", pids_["b"])), "PROCESS_ENDED");
}

TEST_F(Named, AProcessIsInALimitedNumberOfGroups) {
  Start();
  for (size_t i = 0; i < Groups::kMaxOfProcess; ++i) {
    EXPECT_TRUE(core().groups.Join("g" + std::to_string(i), pids_["a"]).ok());
  }
  EXPECT_TRUE(
      absl::IsResourceExhausted(core().groups.Join("more", pids_["a"])));
  EXPECT_TRUE(core().groups.Join("more", pids_["b"]).ok());
  EXPECT_EQ(core().groups.size(), Groups::kMaxOfProcess + 1);
}

}  // namespace
}  // namespace actord::runtime
