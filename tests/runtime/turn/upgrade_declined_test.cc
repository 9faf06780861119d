// Processes that do not continue in a new version, for each of the reasons, and
// stay as they were. Workers run by hand.
#include <stdexcept>

#include "runtime/process/upgrading.h"
#include "tests/runtime/turn/versions_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An output that Restore cannot get but by force.
struct Forced : actord::StepContext {
  static StepOutput OutputOf(const actord::StepContext& context) {
    return StepOutput(context.*(&Forced::step_));
  }
};

// How a process may come to stay as it is, and what the log says of that.
struct Refusal {
  const char* name;
  std::function<void()> prepare;
  const char* text;
};

using DeclinesAlone = VersionsTest;

class Declines : public VersionsTest,
                 public ::testing::WithParamInterface<Refusal> {};

TEST_P(Declines, ProcessDeclinesAndGoesOnUnchanged) {
  const Pid pid = BeginVersioned("a");
  const Pid other = BeginVersioned("b");
  next_act_ = [](StepOutput& out) { out.Yield("ext"); };
  core_->Send(pid, -1);
  Steps();
  GetParam().prepare();
  core_->Send(pid, -1, "m");
  const ProcessType* const type = LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), ElementsAre("v1 a m:m:"));
  EXPECT_EQ(VersionOf(pid), "1");
  EXPECT_EQ(Declined(), 2u);
  EXPECT_EQ(type->declined, 2u);
  EXPECT_EQ(type->declined_live, 2u);
  EXPECT_EQ(Upgraded(), 0u);
  EXPECT_EQ(Versioned<1>::script.closes, 0);
  // One line for all of them.
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_THAT(log_[0], HasSubstr("process type versioned"));
  EXPECT_THAT(log_[0], HasSubstr("version 1"));
  EXPECT_THAT(log_[0], HasSubstr("version 2"));
  EXPECT_THAT(log_[0], HasSubstr(GetParam().text));
  // It is not asked again, and has its yield.
  core_->Send(pid, -1, "n");
  Tell(type);
  EXPECT_THAT(Steps(), ElementsAre("v1 a m:n:"));
  EXPECT_EQ(Declined(), 2u);
  EXPECT_EQ(core_->process(pid).yields_count, 1u);
  EXPECT_EQ(Versioned<1>::script.destroyed, 0);
  // A later version tries again.
  Versioned<1>::script.snapshot = nullptr;
  const ProcessType* const third = LoadAndRun<Versioned<3>>("3");
  EXPECT_EQ(VersionOf(pid), "3");
  EXPECT_EQ(VersionOf(other), "3");
  EXPECT_EQ(type->declined_live, 0u);
  EXPECT_EQ(third->upgraded, 2u);
  ExpectNoYields(pid);
}

INSTANTIATE_TEST_SUITE_P(
    Refusals, Declines,
    ::testing::Values(
        Refusal{"SnapshotRefuses",
                [] {
                  Versioned<1>::script.snapshot = [](const std::string&) {
                    return SnapshotResult(
                        actord::Status(actord::Code::kAborted, "is precious"));
                  };
                },
                "Snapshot of version 1 refused with ABORTED: is precious"},
        Refusal{"SnapshotThrows",
                [] {
                  Versioned<1>::script.snapshot =
                      [](const std::string&) -> SnapshotResult {
                    throw std::runtime_error("broken");
                  };
                },
                "broken"},
        Refusal{"SnapshotIsTooLong",
                [] {
                  Versioned<1>::script.snapshot = [](const std::string&) {
                    return SnapshotResult(std::string(size_t{65} << 20, 'x'));
                  };
                },
                "Snapshot of version 1 broke a rule"},
        Refusal{"RestoreRefuses",
                [] {
                  Versioned<2>::script.restore = [](auto&, auto&, auto&) {
                    return actord::Status(actord::Code::kInvalidArgument,
                                          "is too old");
                  };
                },
                "Restore refused with INVALID_ARGUMENT: is too old"},
        Refusal{"RestoreIsNotReady",
                [] {
                  Versioned<2>::script.restore = [](auto&, auto&, auto&) {
                    return actord::Status(actord::Code::kUnavailable,
                                          "not now");
                  };
                },
                "Restore refused with UNAVAILABLE: not now"},
        Refusal{"RestoreThrows",
                [] {
                  Versioned<2>::script.restore = [](auto&, auto&,
                                                    auto&) -> actord::Status {
                    throw std::runtime_error("broken");
                  };
                },
                "broken"},
        Refusal{"RestoreAdoptsAndRefuses",
                [] {
                  Versioned<2>::script.restore = [](auto&, auto&,
                                                    RestoreContext& context) {
                    context.AdoptYield(1);
                    return actord::Status(actord::Code::kInvalidArgument,
                                          "is too old");
                  };
                },
                "is too old"},
        Refusal{"RestoreYields",
                [] {
                  Versioned<2>::script.restore = [](auto&, auto&,
                                                    RestoreContext& context) {
                    Forced::OutputOf(context).Yield("ext");
                    return actord::Status();
                  };
                },
                "restore yielded, sent or spawned"}),
    [](const auto& kind) { return std::string(kind.param.name); });

TEST_F(DeclinesAlone, ARestoreThatWasWellAndBrokeARuleIsClosed) {
  BeginVersioned("a");
  Versioned<2>::script.restore = [](auto&, auto&, RestoreContext& context) {
    Forced::OutputOf(context).Send(actord::Pid(), "m");
    return actord::Status();
  };
  LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(Versioned<2>::script.closes, 1);
  EXPECT_EQ(Versioned<2>::script.destroyed, 1);
  EXPECT_EQ(Versioned<1>::script.destroyed, 0);
}

TEST_F(DeclinesAlone, DecliningProcessIsNotCountedAfterItsEnd) {
  const Pid pid = BeginVersioned("a");
  Versioned<2>::script.restore = [](auto&, auto&, auto&) {
    return actord::Status(actord::Code::kInvalidArgument, "no");
  };
  const ProcessType* const type = LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(type->declined_live, 1u);
  next_act_ = [](StepOutput& out) { out.Done(); };
  core_->Send(pid, -1);
  core_->Settle();
  EXPECT_EQ(type->declined_live, 0u);
  EXPECT_EQ(type->declined, 1u);
}

}  // namespace
}  // namespace actord::runtime
