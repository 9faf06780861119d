// Which ends are kept as failures, with what, and how they are found and
// listed.
#include "runtime/actors/failures.h"

#include <stdexcept>

#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FailuresTest : public ToldTest {
 protected:
  void StartWith(Limits limits = {}) {
    RuntimeOptions options;
    static_cast<Limits&>(options) = limits;
    options.failed = [this](const ProcessFailure& failure, const StepLines&) {
      logged_.push_back(failure.pid);
    };
    Start(std::move(options));
  }
  void Fail(const std::string& name, const std::string& text = "no stock") {
    Do(name, [text](StepOutput& out) { out.Fail({Code::kUnavailable, text}); });
  }
  FailurePage List(FailureQuery query = {}) {
    if (query.page_size == 0) query.page_size = 100;
    return core().failures.List(query);
  }
  // The texts of the failures, in the order of the list.
  std::vector<std::string> Texts(const FailureQuery& query = {}) {
    std::vector<std::string> texts;
    for (const auto& failure : List(query).failures) {
      texts.push_back(failure->message);
    }
    return texts;
  }
  std::shared_ptr<const ProcessFailure> Of(const std::string& name) {
    return core().failures.Find(pids_[name]);
  }
  // Calls a process that has ended or will end, from outside.
  absl::Status CallError(const Pid& to) {
    core().calls.Begin(
        Owner::kAny, to, {"ask", {}},
        [this](absl::StatusOr<Payload> answer) { error_ = answer.status(); });
    core_->Settle();
    return error_;
  }

  std::vector<Pid> logged_;
  absl::Status error_;
};

TEST_F(FailuresTest, FailAndThrowAreKeptAndTold) {
  StartWith();
  Begin("a");
  Begin("b");
  core_->clock.manual.AdvanceNs(7'000'000'000);
  Fail("a");
  Do("b", [](StepOutput&) { throw std::runtime_error("split tank"); });
  ASSERT_NE(Of("a"), nullptr);
  EXPECT_EQ(Of("a")->kind, EndKind::kFailed);
  EXPECT_EQ(Of("a")->code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(Of("a")->message, "no stock");
  EXPECT_EQ(Of("a")->process_type, "script");
  EXPECT_EQ(Of("a")->ended_unix_ns - Of("a")->started_unix_ns, 7'000'000'000u);
  EXPECT_GT(Of("a")->steps, 0u);
  EXPECT_TRUE(Of("a")->linked.empty());
  ASSERT_NE(Of("b"), nullptr);
  EXPECT_EQ(Of("b")->kind, EndKind::kThrew);
  EXPECT_THAT(Of("b")->message, HasSubstr("split tank"));
  EXPECT_THAT(logged_, ElementsAre(pids_["a"], pids_["b"]));
  EXPECT_EQ(core().Stats().process_failures, 2u);
  EXPECT_THAT(core().failures.CountsByType(),
              ElementsAre(std::pair(std::string("script"), 2u)));
}

TEST_F(FailuresTest, TypesBeyondTheBoundAreCountedTogether) {
  StartWith({.failure_max_count = 0});
  std::vector<ProcessType> types(Failures::kMaxCountedTypes + 2);
  auto process = std::make_unique<Process>();
  for (size_t i = 0; i < types.size(); ++i) {
    types[i].name = "type" + std::to_string(i);
    process->type = &types[i];
    for (size_t failures = 0; failures <= i % 2; ++failures) {
      core().failures.Add(*process, Pid{}, {.kind = EndKind::kFailed});
    }
  }
  process->type = nullptr;  // spawned with a type that does not exist
  core().failures.Add(*process, Pid{}, {.kind = EndKind::kFailed});
  const auto counts = core().failures.CountsByType();
  EXPECT_EQ(counts.size(), Failures::kMaxCountedTypes + 1);
  EXPECT_EQ(counts.at("type0"), 1u);
  EXPECT_EQ(counts.at("type199"), 2u);
  EXPECT_EQ(counts.at(Failures::kOtherTypes), 1u + 2u + 1u);
}

TEST_F(FailuresTest, EndsThatSomebodyAskedForAreNotKept) {
  StartWith();
  Begin("done");
  Do("done", [](StepOutput& out) { out.Done("result"); });
  Begin("terminated");
  Terminate("terminated");
  Begin("cancelled");
  ASSERT_TRUE(core()
                  .delivery
                  .Control(Owner::kAny, pids_["cancelled"], ACTORD_EVENT_CANCEL,
                           "by the test", core().lane)
                  .ok());
  core_->Settle();
  for (const auto& [name, pid] : pids_) EXPECT_FALSE(Lives(name)) << name;
  EXPECT_THAT(Texts(), IsEmpty());
  EXPECT_THAT(logged_, IsEmpty());
  EXPECT_EQ(core().Stats().process_failures, 0u);
  EXPECT_EQ(core().Stats().processes_failed, 2u);
  EXPECT_THAT(core().failures.CountsByType(), IsEmpty());
}

TEST_F(FailuresTest, RefusedChildIsKeptWithItsParentAndRefusedSubmissionIsNot) {
  StartWith();
  Begin("parent");
  Pid child;
  Do("parent", [&child](StepOutput& out) {
    child = FromAbi(out.Spawn("script", "", "no script"));
  });
  const auto failure = core().failures.Find(child);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, EndKind::kInitRefused);
  EXPECT_EQ(failure->parent, pids_["parent"]);
  EXPECT_EQ(failure->message, "the input is no script");
  bool refused = false;
  core().admission.Submit(
      SubmitRequest{"script", "", {"no script", ""}, {}}, Pid{},
      /*keep_result=*/true,
      [&refused](const absl::StatusOr<Pid>& pid) { refused = !pid.ok(); });
  core_->Settle();
  EXPECT_TRUE(refused);
  EXPECT_EQ(List().failures.size(), 1u);
}

TEST_F(FailuresTest, FailureNamesTheProcessesFromWhichItCameOverLinks) {
  StartWith();
  for (const char* name : {"first", "middle", "last"}) Begin(name);
  Do("middle", [this](StepOutput& out) { out.Link(PidOf("first")); });
  Do("last", [this](StepOutput& out) { out.Link(PidOf("middle")); });
  Fail("first");
  ASSERT_NE(Of("middle"), nullptr);
  EXPECT_EQ(Of("middle")->linked, pids_["first"]);
  EXPECT_EQ(Of("middle")->first_cause, pids_["first"]);
  ASSERT_NE(Of("last"), nullptr);
  EXPECT_EQ(Of("last")->linked, pids_["middle"]);
  EXPECT_EQ(Of("last")->first_cause, pids_["first"]);
  EXPECT_TRUE(Of("first")->linked.empty());
}

TEST_F(FailuresTest, FailureHasTheNameThatTheProcessHeld) {
  StartWith();
  Begin("a");
  Pid holder;
  ASSERT_TRUE(core().names.Register("orders/17", pids_["a"], holder).ok());
  Fail("a");
  ASSERT_NE(Of("a"), nullptr);
  EXPECT_EQ(Of("a")->name, "orders/17");
}

TEST_F(FailuresTest, OldestAreDroppedAboveTheLimitsAndLongTextsAreCut) {
  Limits limits;
  limits.failure_max_count = 2;
  StartWith(limits);
  for (const char* name : {"a", "b", "c"}) {
    Begin(name);
    Fail(name, name);
  }
  EXPECT_EQ(Of("a"), nullptr);
  EXPECT_THAT(Texts(), ElementsAre("b", "c"));
  Begin("long");
  Fail("long", std::string(5000, 'x'));
  EXPECT_EQ(Of("long")->message.size(), Failures::kMaxMessageBytes);
  limits.failure_max_bytes = 1000;
  ASSERT_TRUE(core().SetLimits(limits).ok());
  EXPECT_THAT(Texts(), IsEmpty());
  Begin("d");
  Fail("d", "d");
  EXPECT_THAT(Texts(), ElementsAre("d"));
  limits.failure_max_count = 0;
  ASSERT_TRUE(core().SetLimits(limits).ok());
  Begin("e");
  Fail("e", "e");
  EXPECT_THAT(Texts(), IsEmpty());
  EXPECT_EQ(logged_.size(), 6u) << "also a failure that is not kept is logged";
}

TEST_F(FailuresTest, ListsHavePagesFiltersAndBothOrders) {
  StartWith();
  for (const char* name : {"1", "2", "3", "4", "5"}) {
    Begin(name, name == std::string("3") ? "trapping" : "script");
    Fail(name, name);
    core_->clock.manual.AdvanceNs(1'000'000'000);
  }
  for (const bool newest_first : {false, true}) {
    FailureQuery query{.newest_first = newest_first, .page_size = 2};
    std::string walked;
    do {
      const FailurePage page = List(query);
      EXPECT_LE(page.failures.size(), 2u);
      for (const auto& failure : page.failures) walked += failure->message;
      query.first = page.next;
    } while (query.first != 0);
    EXPECT_EQ(walked, newest_first ? "54321" : "12345");
  }
  EXPECT_THAT(Texts({.process_type = "trapping"}), ElementsAre("3"));
  EXPECT_THAT(Texts({.pid = pids_["2"]}), ElementsAre("2"));
  EXPECT_THAT(Texts({.since_unix_ns = Of("4")->ended_unix_ns}),
              ElementsAre("4", "5"));
  EXPECT_THAT(Texts({.after = Of("3")->id}), ElementsAre("4", "5"));
}

TEST_F(FailuresTest, OwnersSeeOnlyTheirOwnFailures) {
  StartWith();
  const Owner mine{1};
  const Pid pid = core_->Submit(
      actord::testing::Script{.step =
                                  [](Events events, StepOutput& out) {
                                    for (const Event event : events) {
                                      if (event.is_message())
                                        out.Fail({Code::kAborted, "mine"});
                                    }
                                  }},
      "script", mine);
  core_->Send(pid, -1);
  core_->Settle();
  EXPECT_THAT(Texts({.by = mine}), ElementsAre("mine"));
  EXPECT_THAT(Texts({.by = Owner{2}}), IsEmpty());
  EXPECT_NE(core().failures.Find(pid, mine), nullptr);
  EXPECT_EQ(core().failures.Find(pid, Owner{2}), nullptr);
}

TEST_F(FailuresTest, CallersAreToldWhichProcessHasEndedAndHow) {
  StartWith();
  Begin("owes");
  const Pid owes = pids_["owes"];
  EXPECT_TRUE(CallError(owes).ok()) << "it has not ended yet";
  Fail("owes");
  EXPECT_EQ(ReasonOf(error_), reason::kCalleeEnded);
  EXPECT_EQ(HolderOf(error_), FormatPid(owes));
  EXPECT_EQ(CalleeEndOf(error_), "FAILED");
  EXPECT_EQ(CalleeTextOf(error_), "no stock");
  EXPECT_THAT(std::string(error_.message()),
              HasSubstr(FormatPid(owes) +
                        ", which was called, has ended without a reply: "
                        "FAILED: no stock"));

  Begin("done");
  const Pid done = pids_["done"];
  CallError(done).IgnoreError();
  Do("done", [](StepOutput& out) { out.Done("result"); });
  EXPECT_EQ(CalleeEndOf(error_), "DONE");
  EXPECT_EQ(CalleeTextOf(error_), "");

  // The call lies in the mailbox when the process fails.
  Begin("reads not");
  DoLater("reads not", [](StepOutput& out) {
    out.Fail({Code::kAborted, "before"});
  });
  CallError(pids_["reads not"]).IgnoreError();
  EXPECT_EQ(HolderOf(error_), FormatPid(pids_["reads not"]));
  EXPECT_EQ(CalleeTextOf(error_), "before");
}

TEST_F(FailuresTest, DescribeShowsNamesPluginAndTies) {
  StartWith();
  for (const char* name : {"a", "b", "c"}) Begin(name);
  Pid holder;
  ASSERT_TRUE(core().names.Register("one", pids_["a"], holder).ok());
  ASSERT_TRUE(core().names.Register("two", pids_["a"], holder).ok());
  Do("a", [this](StepOutput& out) {
    out.Link(PidOf("b"));
    out.Monitor(PidOf("c"));
  });
  const auto a = core().Describe(pids_["a"], Owner::kAny);
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_THAT(a->names, ElementsAre("one", "two"));
  EXPECT_EQ(a->plugin, "test");
  EXPECT_THAT(a->links, ElementsAre(pids_["b"]));
  EXPECT_THAT(a->monitors, ElementsAre(pids_["c"]));
  EXPECT_THAT(a->monitored_by, IsEmpty());
  EXPECT_THAT(core().Describe(pids_["b"], Owner::kAny)->links,
              ElementsAre(pids_["a"]));
  EXPECT_THAT(core().Describe(pids_["c"], Owner::kAny)->monitored_by,
              ElementsAre(pids_["a"]));
}

TEST_F(FailuresTest, CallingProcessIsToldInTheText) {
  StartWith();
  Begin("caller");
  Begin("callee");
  Do("caller", [this](StepOutput& out) { out.Call(PidOf("callee"), "ask"); });
  Fail("callee");
  EXPECT_THAT(Told("caller"),
              ElementsAre(HasSubstr(FormatPid(pids_["callee"]) +
                                    ", which was called, has ended without a "
                                    "reply: FAILED: no stock")));
}

}  // namespace
}  // namespace actord::runtime
