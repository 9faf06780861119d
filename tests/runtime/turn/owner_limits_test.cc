// The number of live processes of an owner. Workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

constexpr Owner kTenant{5};
constexpr Owner kNeighbour{6};

class OwnerLimitsTest : public ::testing::Test {
 protected:
  void Start(size_t max) {
    RuntimeOptions options;
    options.counts_owners = true;
    core_ = std::make_unique<SteppedCore>(1, std::move(options));
    core_->Settle();
    SetQuotas({.processes = max});
  }
  void SetQuotas(const OwnerQuotas& all,
                 const std::vector<OwnQuotas>& own = {}) {
    ASSERT_TRUE(core_->core->SetQuotas(all, own).ok());
  }
  absl::StatusOr<Pid> Submit(Owner owner,
                             const actord::testing::Script& script) {
    SubmitRequest request{
        "script", "", {actord::testing::InputOf(script), ""}, {}};
    request.owner = owner;
    absl::StatusOr<Pid> answer = absl::UnknownError("not answered");
    core_->core->admission.Submit(
        request, Pid{}, /*keep_result=*/true,
        [&](absl::StatusOr<Pid> pid) { answer = std::move(pid); });
    core_->Settle();
    return answer;
  }
  void Terminate(const Pid& pid) {
    ASSERT_TRUE(
        core_->core->delivery
            .Control(Owner::kAny, pid, kEventTerminate, "", core_->core->lane)
            .ok());
    core_->Settle();
  }

  const actord::testing::Script idle_{.step = [](Events, StepOutput&) {}};
  std::unique_ptr<SteppedCore> core_;
};

TEST_F(OwnerLimitsTest, EachOwnerHasTheLimitForItself) {
  Start(2);
  const auto first = Submit(kTenant, idle_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(Submit(kTenant, idle_).ok());
  const absl::Status refused = Submit(kTenant, idle_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), reason::kClientQuota);
  EXPECT_EQ(QuotaOf(refused), "processes");
  EXPECT_EQ(QuotaLimitOf(refused), "2");
  EXPECT_EQ(RetryDelayOf(refused), absl::Seconds(1));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("2 live processes"));
  EXPECT_TRUE(Submit(kNeighbour, idle_).ok());
  Terminate(*first);
  EXPECT_TRUE(Submit(kTenant, idle_).ok());
  EXPECT_FALSE(Submit(kTenant, idle_).ok());
  EXPECT_EQ(core_->core->Stats().refused_processes_of_owner, 2u);
  EXPECT_EQ(core_->core->Stats().refused_processes, 0u);
}

TEST_F(OwnerLimitsTest, NobodyHasNone) {
  Start(1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(Submit(Owner::kNobody, idle_).ok());
  }
}

TEST_F(OwnerLimitsTest, WithoutALimitNobodyIsRefused) {
  Start(0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Submit(kTenant, idle_).ok());
}

TEST_F(OwnerLimitsTest, ASpawnBeyondTheLimitHasNoPid) {
  Start(2);
  bool first = false;
  bool second = true;
  const actord::testing::Script parent{.step = [&](Events, StepOutput& out) {
    const std::string input = actord::testing::InputOf(idle_);
    first = !out.Spawn("script", "", input).empty();
    second = !out.Spawn("script", "", input).empty();
    // Room that a failing step had reserved is free again.
    out.Fail(Code::kAborted, "by intention");
  }};
  ASSERT_TRUE(Submit(kTenant, parent).ok());
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_EQ(core_->core->Stats().refused_processes_of_owner, 1u);
  EXPECT_EQ(core_->core->Stats().processes_live, 0u);
  EXPECT_TRUE(Submit(kTenant, idle_).ok());
  EXPECT_TRUE(Submit(kTenant, idle_).ok());
  EXPECT_FALSE(Submit(kTenant, idle_).ok());
}

// A process that its type refuses leaves its place among those of the owner.
TEST_F(OwnerLimitsTest, ARefusedProcessTakesNoPlace) {
  RuntimeOptions options;
  options.counts_owners = true;
  options.type_limits = {{.process_type = "script", .max_processes = 1}};
  core_ = std::make_unique<SteppedCore>(1, std::move(options));
  core_->Settle();
  SetQuotas({.processes = 2});
  const auto other = Submit(kNeighbour, idle_);
  ASSERT_TRUE(other.ok());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ReasonOf(Submit(kTenant, idle_).status()), reason::kProcessLimit);
  }
  Terminate(*other);
  EXPECT_TRUE(Submit(kTenant, idle_).ok());
}

}  // namespace
}  // namespace actord::runtime
