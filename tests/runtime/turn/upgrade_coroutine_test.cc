// Coroutines that go on in a new version of their type. Workers run by hand.
#include <actord/coroutine.h>

#include <string>

#include "tests/runtime/turn/versions_fixture.h"

namespace actord::runtime {
namespace {

using actord::Context;
using actord::OwnedPayload;
using actord::Task;

// Says which version it is, what its input was and what it was restored from.
template <int V>
class Knocked : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "knocked";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  Task<std::string> Main(Context& ctx, OwnedPayload input) {
    if (!input.bytes.empty()) state_ = input.bytes;
    co_await ctx.Receive("knock");
    co_return "v" + std::to_string(V) + " " + state_;
  }
  SnapshotResult Snapshot() const { return state_; }
  void Restore(std::string_view, const RestoreFrom& from, RestoreContext&) {
    state_ = from.snapshot.bytes;
  }

 private:
  std::string state_;
};

class UpgradeCoroutine : public VersionsTest {
 protected:
  void SubmitKnocked(const std::string& input) {
    core().admission.Submit(SubmitRequest{"knocked", "run", {input, ""}, {}},
                            Pid{}, /*keep_result=*/true,
                            [this](absl::StatusOr<Pid> pid) {
                              ASSERT_TRUE(pid.ok()) << pid.status();
                              pids_["it"] = *pid;
                            });
  }
};

TEST_F(UpgradeCoroutine, BeforeItsFirstStepItsInputIsNotLost) {
  ASSERT_TRUE(Load<Knocked<1>>("1").ok());
  SubmitKnocked("input");
  // Its Init has not been, so no input has been seen.
  const auto type = Load<Knocked<2>>("2");
  ASSERT_TRUE(type.ok());
  Tell(*type);
  core_->Settle();
  EXPECT_EQ(VersionOf(pids_["it"]), "2");
  EXPECT_EQ((*type)->upgraded, 1u);
  EXPECT_EQ((*type)->declined, 0u);
  core_->Send(pids_["it"], -1, "knock");
  core_->Settle();
  const auto outcome = OutcomeOf("it");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->result.bytes, "v2 input");
}

}  // namespace
}  // namespace actord::runtime
