// Which version's code runs while a process goes on in another version.
#include <string>
#include <vector>

#include "runtime/crash/running_code.h"
#include "tests/runtime/turn/versions_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;

class RunningCodeUpgrade : public VersionsTest {
 protected:
  void SetUp() override {
    VersionsTest::SetUp();
    Versioned<1>::script.snapshot = [this](const std::string& state) {
      See();
      return SnapshotResult(state);
    };
    Versioned<1>::script.step = [this](std::string&, Events, StepOutput&) {
      See();
    };
    Versioned<2>::script.step = Versioned<1>::script.step;
  }

  void See() {
    const auto code = RunningCodeHere();
    ASSERT_TRUE(code);
    seen_.push_back(std::string(code->function) + " " +
                    std::string(code->version));
  }
  // Runs an upgrade whose Restore ends with `status`.
  void Upgrade(const actord::Status& status) {
    Versioned<2>::script.restore =
        [this, status](std::string&, const RestoreFrom&, RestoreContext&) {
          See();
          return status;
        };
    const LaneScope scope(core_->lane(0), core().processes);
    BeginVersioned("a");
    LoadAndRun<Versioned<2>>("2");
  }

  std::vector<std::string> seen_;
};

TEST_F(RunningCodeUpgrade, RestoreIsCodeOfTheNewVersion) {
  Upgrade(actord::Status());
  EXPECT_THAT(seen_,
              ElementsAre("Step 1", "Snapshot 1", "Restore 2", "Step 2"));
}

TEST_F(RunningCodeUpgrade, AfterARefusalTheOldCodeRuns) {
  Upgrade({actord::Code::kInvalidArgument, "not this one"});
  core_->Send(pids_["a"], -1);
  {
    const LaneScope scope(core_->lane(0), core().processes);
    core_->Settle();
  }
  EXPECT_THAT(seen_,
              ElementsAre("Step 1", "Snapshot 1", "Restore 2", "Step 1"));
}

}  // namespace
}  // namespace actord::runtime
