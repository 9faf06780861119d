// Owners of processes: given by the submission, inherited by each child.
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/runtime/runtime_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {
namespace {

constexpr Owner kAlice{5};
constexpr Owner kBob{65534};

class OwnerTest : public RuntimeTest {
 protected:
  Pid MustSubmitFor(Owner owner, const Script& script) {
    SubmitRequest request{"script", "", {InputOf(script), ""}, {}};
    request.owner = owner;
    const absl::StatusOr<Pid> pid = Submit(std::move(request));
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.value_or(Pid{});
  }
  Owner OwnerOf(const Pid& pid) {
    const absl::StatusOr<ProcessInfo> info = runtime_->Describe(pid);
    EXPECT_TRUE(info.ok()) << info.status();
    return info.ok() ? info->owner : Owner::kAny;
  }
};

TEST_F(OwnerTest, ProcessBelongsToTheOwnerOfTheSubmission) {
  Start();
  const Script waits{};
  EXPECT_EQ(OwnerOf(MustSubmitFor(kAlice, waits)), kAlice);
  EXPECT_EQ(OwnerOf(MustSubmitFor(kBob, waits)), kBob);
  EXPECT_EQ(OwnerOf(MustSubmit(waits)), Owner::kNobody);
}

TEST_F(OwnerTest, ChildrenAndGrandchildrenInheritTheOwner) {
  Start();
  const Script waits{};
  const Script parent{.step = [&waits](Events events, StepOutput& out) {
    if (events.empty()) {
      static_cast<void>(out.Spawn("script", "run", {InputOf(waits), ""}));
    }
  }};
  const Script grandparent{.step = [&parent](Events events, StepOutput& out) {
    if (events.empty()) {
      static_cast<void>(out.Spawn("script", "run", {InputOf(parent), ""}));
    }
  }};
  MustSubmitFor(kAlice, grandparent);
  MustSubmitFor(kBob, grandparent);
  ASSERT_TRUE(Eventually([this] {
    return runtime_->ListProcesses({}, 0, 100).processes.size() == 6;
  }));
  int of_alice = 0;
  for (const ProcessInfo& info :
       runtime_->ListProcesses({}, 0, 100).processes) {
    if (info.owner == kAlice) ++of_alice;
    if (!info.parent.empty()) EXPECT_EQ(info.owner, OwnerOf(info.parent));
  }
  EXPECT_EQ(of_alice, 3);
}

// A client that sees only its own processes cannot tell a process of another
// owner from an ended process, or from a process that never was.
TEST_F(OwnerTest, ForeignProcessIsAnsweredLikeAnEndedOne) {
  Start();
  const Script waits{};
  const Pid own = MustSubmitFor(kAlice, waits);
  const Pid foreign = MustSubmitFor(kBob, waits);
  const Pid ended = MustSubmitFor(
      kBob, Script{.step = [](Events, StepOutput& out) { out.Done(); }});
  MustAwait(ended);
  Pid never = foreign;
  never.slot += 1000;
  const auto ended_for = [](const Pid& pid, const absl::Status& status) {
    EXPECT_THAT(status, Refused(absl::StatusCode::kFailedPrecondition,
                                reason::kProcessEnded));
    EXPECT_EQ(status.message(), "process " + FormatPid(pid) + " has ended");
  };
  const auto call = [this](const Pid& pid, Owner by) {
    std::promise<absl::Status> answered;
    auto answer = answered.get_future();
    const auto id = runtime_->Call(
        pid, {"t", {}},
        [&answered](absl::StatusOr<Payload> reply) {
          answered.set_value(reply.status());
        },
        by);
    if (id != 0 && runtime_->CancelCall(id)) return absl::OkStatus();
    return Get(answer);
  };
  const auto await = [this](const Pid& pid, Owner by) {
    std::promise<absl::Status> answered;
    auto answer = answered.get_future();
    const auto id = runtime_->Await(
        pid,
        [&answered](absl::StatusOr<Outcome> outcome) {
          answered.set_value(outcome.status());
        },
        by);
    if (id != 0 && runtime_->CancelAwait(pid, id)) return absl::OkStatus();
    return Get(answer);
  };
  for (const Pid& pid : {foreign, ended, never}) {
    SCOPED_TRACE(FormatPid(pid));
    ended_for(pid, runtime_->Send(pid, {"t", {}}, kAlice));
    ended_for(pid, call(pid, kAlice));
    ended_for(pid, runtime_->Cancel(pid, "", absl::ZeroDuration(), kAlice));
    ended_for(pid, runtime_->Terminate(pid, "", kAlice));
    ended_for(pid, runtime_->Describe(pid, kAlice).status());
    ended_for(pid, runtime_->TypeNameOf(pid, kAlice).status());
    EXPECT_THAT(
        await(pid, kAlice),
        Refused(absl::StatusCode::kFailedPrecondition, reason::kResultNotKept));
  }
  EXPECT_TRUE(await(ended, kBob).ok()) << "its own result";
  EXPECT_TRUE(await(ended, Owner::kAny).ok());
  EXPECT_TRUE(await(foreign, kBob).ok()) << "it waits";
  EXPECT_TRUE(call(foreign, kBob).ok()) << "it waits";
  EXPECT_EQ(runtime_->Describe(foreign, kBob).value().owner, kBob);
  EXPECT_EQ(runtime_->Describe(foreign).value().owner, kBob);
  EXPECT_EQ(runtime_->TypeNameOf(foreign, kBob).value(), "script");
  EXPECT_EQ(runtime_->TypeNameOf(foreign).value(), "script");
  // One who sees all learns whether there was such a process.
  EXPECT_THAT(runtime_->Send(never, {"t", {}}),
              Refused(absl::StatusCode::kNotFound, reason::kProcessNotFound));
  const auto listed = [this](Owner by) {
    std::set<Pid> pids;
    for (const ProcessInfo& info :
         runtime_->ListProcesses({.by = by}, 0, 100).processes) {
      pids.insert(info.pid);
    }
    return pids;
  };
  EXPECT_EQ(listed(kAlice), std::set<Pid>{own});
  EXPECT_EQ(listed(kBob), std::set<Pid>{foreign});
  EXPECT_EQ(listed(Owner::kNobody), std::set<Pid>{});
  EXPECT_EQ(listed(Owner::kAny), (std::set<Pid>{own, foreign}));
}

// The parameter is the mode of the handler: on the worker, or on the pool.
class OwnerOfSpawned : public OwnerTest {
 protected:
  // A handler that starts a process for `parent`, which may be null.
  void AddSpawn(const Pid* parent, const Script& child) {
    handler_ = std::make_unique<actord::testing::ScriptHandler>(
        "spawn", static_cast<uint32_t>(GetParam()),
        [this, parent, &child](actord::testing::Call& call) {
          actord_spawn spawn{};
          spawn.struct_size = sizeof(spawn);
          spawn.process_type = ToAbi(std::string_view("script"));
          const std::string input = InputOf(child);
          spawn.input.bytes = ToAbi(input);
          const actord_pid of =
              parent == nullptr ? call.from() : ToAbi(*parent);
          runtime_->host()->spawn(
              runtime_->host(),
              parent != nullptr && parent->empty() ? nullptr : &of, &spawn,
              call.Defer());
          return ACTORD_DEFERRED;
        });
    ASSERT_TRUE(
        catalog_.AddCommand(handler_->descriptor(), handler_.get(), "test")
            .ok());
  }
  // The owner of what the handler starts for a process of kAlice.
  Owner OwnerOfChild() {
    std::promise<std::string> answered;
    auto answer = answered.get_future();
    const Script asks{.step = [&](Events events, StepOutput& out) {
      if (events.empty()) {
        out.Yield("spawn");
      } else {
        answered.set_value(std::string(events[0].payload().bytes));
      }
    }};
    MustSubmitFor(kAlice, asks);
    const absl::StatusOr<Pid> child = ParsePid(Get(answer));
    EXPECT_TRUE(child.ok()) << child.status();
    return child.ok() ? OwnerOf(*child) : Owner::kAny;
  }

  std::unique_ptr<actord::testing::ScriptHandler> handler_;
};

INSTANTIATE_TEST_SUITE_P(Modes, OwnerOfSpawned,
                         ::testing::Values(ACTORD_HANDLER_INLINE,
                                           ACTORD_HANDLER_POOLED));

TEST_P(OwnerOfSpawned, ChildHasTheOwnerOfItsParent) {
  const Script waits{};
  AddSpawn(nullptr, waits);
  Start();
  EXPECT_EQ(OwnerOfChild(), kAlice);
}

TEST_P(OwnerOfSpawned, WithoutAParentIsThatOfTheProcessThatAsks) {
  const Script waits{};
  const Pid none;
  AddSpawn(&none, waits);
  Start();
  EXPECT_EQ(OwnerOfChild(), kAlice);
}

TEST_P(OwnerOfSpawned, ChildOfAnEndedParentHasTheOwnerOfTheAskingProcess) {
  const Script waits{};
  const Script ends{.step = [](Events, StepOutput& out) { out.Done(); }};
  Pid parent;
  AddSpawn(&parent, waits);
  Start();
  parent = MustSubmitFor(kBob, ends);
  MustAwait(parent);
  EXPECT_EQ(OwnerOfChild(), kAlice);
}

}  // namespace
}  // namespace actord::runtime
