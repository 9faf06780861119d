// Calls without an answer: ListCalls shows who waits for whom, since when and
// until when.
#include <chrono>

#include "absl/time/time.h"
#include "runtime/process/call_times.h"
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

constexpr uint64_t kMsNs = 1'000'000;

TEST(CallTimes, KeepsTheBeginAndTheTimeout) {
  constexpr uint64_t kYear = uint64_t{365} * 86'400'000;
  for (const int64_t begun_ms :
       {int64_t{0}, int64_t{1}, int64_t{-5}, static_cast<int64_t>(20 * kYear),
        -static_cast<int64_t>(20 * kYear)}) {
    for (const uint64_t timeout_ms :
         {uint64_t{0}, uint64_t{1}, uint64_t{32'767}, uint64_t{32'769},
          uint64_t{3'600'001}, 100 * kYear}) {
      const CallTimes times =
          CallTimes::Of(begun_ms * int64_t{kMsNs}, timeout_ms * kMsNs);
      EXPECT_EQ(times.begun_ms(), begun_ms);
      EXPECT_LE(times.timeout_ms(), timeout_ms);
      EXPECT_LE(timeout_ms - times.timeout_ms(), timeout_ms / 10'000);
    }
  }
  // A timeout never looks like no timeout.
  EXPECT_EQ(CallTimes::Of(0, 1).timeout_ms(), 1u);
  EXPECT_EQ(CallTimes::Of(0, UINT64_MAX - 1).begun_ms(), 0);
}

class Waiting : public ToldTest {
 protected:
  void Start(RuntimeOptions options = {}) {
    ToldTest::Start(std::move(options));
    for (const char* const name : {"a", "b", "c"}) Begin(name);
  }
  void Call(const std::string& from, const std::string& to,
            YieldOptions options = {}) {
    Do(from, [=, this](StepOutput& out) {
      out.Call(PidOf(to), "ask", "question", options);
    });
  }
  Calls::Id CallFromOutside(const std::string& to, WhoCalls who = {}) {
    return core().calls.Begin(
        Owner::kAny, pids_[to], {"ask", {"", ""}},
        [](const absl::StatusOr<Payload>&) {}, std::move(who));
  }
  std::vector<PendingCall> All(const CallFilter& filter = {},
                               size_t page_size = 100) {
    std::vector<PendingCall> all;
    uint64_t place = 0;
    do {
      CallPage page = core().ListCalls(filter, place, page_size);
      EXPECT_LE(page.calls.size(), page_size);
      for (PendingCall& call : page.calls) all.push_back(std::move(call));
      place = page.next_place;
    } while (place != 0);
    return all;
  }
  // "a>b"; "?" is a program outside.
  std::vector<std::string> Edges(const CallFilter& filter = {},
                                 size_t page_size = 100) {
    std::vector<std::string> edges;
    for (const PendingCall& call : All(filter, page_size)) {
      edges.push_back(NameOf(call.caller) + ">" + NameOf(call.callee));
    }
    return edges;
  }
  std::string NameOf(const Pid& pid) {
    for (const auto& [name, one] : pids_) {
      if (one == pid) return name;
    }
    return "?";
  }
};

TEST_F(Waiting, CallIsListedUntilItHasItsAnswer) {
  Start();
  EXPECT_THAT(All(), IsEmpty());
  Pid holder;
  ASSERT_TRUE(core().names.Register("desk", pids_["b"], holder).ok());
  Pass(3 * kMsNs);
  const uint64_t asked_unix_ns = core_->clock.manual.UnixNs();
  Call("a", "b", {.timeout = 90s});
  Pass(5000 * kMsNs);
  const std::vector<PendingCall> calls = All();
  ASSERT_EQ(calls.size(), 1u);
  const PendingCall& call = calls.front();
  EXPECT_EQ(call.caller, pids_["a"]);
  EXPECT_EQ(call.caller_type, "script");
  EXPECT_EQ(call.caller_name, "");
  EXPECT_EQ(call.caller_yields, 1u);
  EXPECT_EQ(call.callee, pids_["b"]);
  EXPECT_EQ(call.callee_type, "script");
  EXPECT_EQ(call.callee_name, "desk");
  EXPECT_EQ(call.callee_state, ProcessState::kIdle);
  // Whole milliseconds are kept.
  EXPECT_LE(call.begun_unix_ns, asked_unix_ns);
  EXPECT_LT(asked_unix_ns - call.begun_unix_ns, 2 * kMsNs);
  EXPECT_EQ(call.deadline_unix_ns - call.begun_unix_ns, 90'000 * kMsNs);

  Do("b", [call = TheCall()](StepOutput& out) { out.Reply(call, "answer"); });
  EXPECT_THAT(Told("a"), ElementsAre("c:0:answer"));
  EXPECT_THAT(All(), IsEmpty());
}

TEST_F(Waiting, OtherYieldsAreNoCalls) {
  Start();
  Call("a", "b");
  Do("b", [call = TheCall()](StepOutput& out) { out.Reply(call, "answer"); });
  // The new yields take the record of the call.
  Do("a", [](StepOutput& out) { out.Yield("ext"); });
  Do("c", [](StepOutput& out) { out.Yield("sleep", "1000000"); });
  EXPECT_THAT(All(), IsEmpty());
  EXPECT_EQ(core().Describe(pids_["a"], Owner::kAny)->yields, 1u);
}

TEST_F(Waiting, CommandsInTheDaemonAreListedIfAsked) {
  Start();
  Do("a", [](StepOutput& out) { out.Yield("sleep", "9000000000"); });
  Do("b", [](StepOutput& out) { out.Yield("ext"); });
  Call("c", "a");
  Pass(3 * kMsNs);
  EXPECT_THAT(Edges(), ElementsAre("c>a"));
  const CallFilter of_a{.caller = pids_["a"], .with_commands = true};
  ASSERT_EQ(All(of_a).size(), 1u);
  const PendingCall sleep = All(of_a).front();
  EXPECT_EQ(sleep.caller, pids_["a"]);
  EXPECT_EQ(sleep.command, "sleep");
  EXPECT_EQ(sleep.plugin, "test");
  EXPECT_TRUE(sleep.callee.empty());
  EXPECT_GE(core_->clock.manual.UnixNs() - sleep.begun_unix_ns, 3 * kMsNs);
  EXPECT_EQ(All({.with_commands = true}).size(), 2u);
  // A command owes the answer, and no process.
  EXPECT_THAT(Edges({.callee = pids_["a"], .with_commands = true}),
              ElementsAre("c>a"));
  Pass(9'100 * kMsNs);
  EXPECT_THAT(All(of_a), IsEmpty());
}

TEST_F(Waiting, CallWithoutATimeoutHasNoDeadline) {
  Start();
  Call("a", "b", {.timeout = actord::Duration::max()});
  ASSERT_EQ(All().size(), 1u);
  EXPECT_EQ(All().front().deadline_unix_ns, 0u);
}

TEST_F(Waiting, CallThatHasTimedOutIsNotListed) {
  Start();
  Call("a", "b", {.timeout = 5ms});
  EXPECT_THAT(Edges(), ElementsAre("a>b"));
  Pass(100 * kMsNs);
  EXPECT_THAT(Edges(), IsEmpty());
}

TEST_F(Waiting, FiltersByCallerCalleeAndAge) {
  Start();
  Call("a", "b");
  Call("b", "c");
  Pass(1000 * kMsNs);
  Call("c", "b");
  CallFromOutside("b");
  EXPECT_THAT(Edges(), UnorderedElementsAre("a>b", "b>c", "c>b", "?>b"));
  EXPECT_THAT(Edges({.caller = pids_["b"]}), ElementsAre("b>c"));
  EXPECT_THAT(Edges({.callee = pids_["b"]}),
              UnorderedElementsAre("a>b", "c>b", "?>b"));
  EXPECT_THAT(Edges({.begun_until_unix_ns =
                         core_->clock.manual.UnixNs() - 500 * kMsNs}),
              UnorderedElementsAre("a>b", "b>c"));
  EXPECT_THAT(Edges({}, /*page_size=*/1),
              UnorderedElementsAre("a>b", "b>c", "c>b", "?>b"));
}

TEST_F(Waiting, CallsFromOutsideEndWithTheirAnswer) {
  Start();
  const Calls::Id first = CallFromOutside("a");
  CallFromOutside("a");
  EXPECT_THAT(Edges(), ElementsAre("?>a", "?>a"));
  EXPECT_TRUE(core().calls.Cancel(first));
  EXPECT_THAT(Edges(), ElementsAre("?>a"));
  Terminate("a");
  EXPECT_THAT(Edges(), IsEmpty());
}

TEST_F(Waiting, TheProgramOutsideIsNamedToItsOwnerAlone) {
  Start();
  const Owner payer{7};
  Owner caller = payer;
  CallFromOutside("b", [&caller] {
    return OutsideCaller{caller, "billing", "192.0.2.1:4711", 3};
  });
  const auto outside = [this](Owner by) {
    const std::vector<PendingCall> calls = All({.by = by});
    EXPECT_EQ(calls.size(), 1u);
    return calls.empty() ? std::nullopt : calls.front().outside;
  };
  const std::optional<OutsideCaller> seen = outside(Owner::kAny);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->owner, payer);
  EXPECT_EQ(seen->name, "billing");
  EXPECT_EQ(seen->address, "192.0.2.1:4711");
  EXPECT_EQ(seen->connection, 3u);
  EXPECT_EQ(outside(Owner::kNobody), std::nullopt);
  caller = Owner::kNobody;
  EXPECT_TRUE(outside(Owner::kNobody).has_value());
}

TEST_F(Waiting, AProgramThatIsNotKnownHasNoName) {
  Start();
  CallFromOutside("b");
  CallFromOutside("b", [] { return std::nullopt; });
  for (const PendingCall& call : All()) {
    EXPECT_EQ(call.outside, std::nullopt);
  }
}

TEST_F(Waiting, ACallOfAnotherOwnerIsNotSeen) {
  Start();
  Call("a", "b");
  CallFromOutside("b");
  const Owner stranger{7};
  EXPECT_THAT(Edges({.by = stranger}), IsEmpty());
  EXPECT_THAT(Edges({.callee = pids_["b"], .by = stranger}), IsEmpty());
  EXPECT_THAT(Edges({.by = Owner::kNobody}),
              UnorderedElementsAre("a>b", "?>b"));
}

TEST_F(Waiting, TheCallOfAnEndedProcessIsGone) {
  Start();
  Call("a", "b");
  Terminate("a");
  EXPECT_THAT(Edges(), IsEmpty());
}

}  // namespace
}  // namespace actord::runtime
