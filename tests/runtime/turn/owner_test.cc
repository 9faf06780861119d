// Owners of processes: given by the submission, inherited by each child.
#include <future>
#include <memory>
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

TEST_F(OwnerTest, IsOfTheSubmission) {
  Start();
  const Script waits{};
  EXPECT_EQ(OwnerOf(MustSubmitFor(kAlice, waits)), kAlice);
  EXPECT_EQ(OwnerOf(MustSubmitFor(kBob, waits)), kBob);
  EXPECT_EQ(OwnerOf(MustSubmit(waits)), Owner::kNobody);
}

TEST_F(OwnerTest, GoesToChildrenAndGrandchildren) {
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

TEST_P(OwnerOfSpawned, IsTheParents) {
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

TEST_P(OwnerOfSpawned, OfAnEndedParentIsThatOfTheProcessThatAsks) {
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
