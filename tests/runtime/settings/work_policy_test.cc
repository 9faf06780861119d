#include "runtime/settings/work_policy.h"

#include <gtest/gtest.h>

#include <functional>

namespace actord::runtime {
namespace {

TEST(WorkPolicy, TheFirstThatMatchesIsForTheCommand) {
  std::vector<WorkPolicy> policies(3);
  policies[0].pattern = "pay.charge";
  policies[1].pattern = "pay.*";
  policies[2].pattern = "*";
  EXPECT_EQ(&PolicyFor(policies, "pay.charge"), &policies[0]);
  EXPECT_EQ(&PolicyFor(policies, "pay.refund"), &policies[1]);
  EXPECT_EQ(&PolicyFor(policies, "print"), &policies[2]);
  policies.pop_back();
  EXPECT_EQ(PolicyFor(policies, "print"), WorkPolicy());
}

TEST(WorkPolicy, PausesDoubleUpToTheirMaximum) {
  WorkPolicy policy;
  policy.backoff = absl::Seconds(1);
  policy.max_backoff = absl::Seconds(5);
  EXPECT_EQ(BackoffAfter(policy, 1), absl::Seconds(1));
  EXPECT_EQ(BackoffAfter(policy, 2), absl::Seconds(2));
  EXPECT_EQ(BackoffAfter(policy, 3), absl::Seconds(4));
  EXPECT_EQ(BackoffAfter(policy, 4), absl::Seconds(5));
  EXPECT_EQ(BackoffAfter(policy, 1'000'000), absl::Seconds(5));
  policy.backoff = absl::ZeroDuration();
  EXPECT_EQ(BackoffAfter(policy, 1'000'000), absl::ZeroDuration());
}

TEST(WorkPolicy, FieldOutOfItsLimitsIsNamed) {
  struct Case {
    const char* name;
    std::function<void(WorkPolicy&)> change;
  };
  const Case cases[] = {
      {"pattern", [](WorkPolicy& p) { p.pattern = "a*b"; }},
      {"pattern", [](WorkPolicy& p) { p.pattern = ""; }},
      {"max_attempts", [](WorkPolicy& p) { p.max_attempts = 0; }},
      {"max_attempts", [](WorkPolicy& p) { p.max_attempts = 1'000'001; }},
      {"lease", [](WorkPolicy& p) { p.lease = absl::Milliseconds(9); }},
      {"lease", [](WorkPolicy& p) { p.lease = absl::InfiniteDuration(); }},
      {"attempt_timeout",
       [](WorkPolicy& p) { p.attempt_timeout = absl::ZeroDuration(); }},
      {"start_timeout",
       [](WorkPolicy& p) { p.start_timeout = absl::ZeroDuration(); }},
      {"backoff", [](WorkPolicy& p) { p.backoff = -absl::Seconds(1); }},
      {"max_backoff",
       [](WorkPolicy& p) { p.max_backoff = absl::InfiniteDuration(); }}};
  EXPECT_TRUE(ValidateWorkPolicy(WorkPolicy()).ok());
  for (const Case& c : cases) {
    WorkPolicy policy;
    c.change(policy);
    const absl::Status status = ValidateWorkPolicy(policy);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_NE(status.message().find(c.name), absl::string_view::npos) << status;
  }
}

TEST(WorkPolicy, AYieldSaysWhatIsToBeOtherwise) {
  WorkPolicy base{.pattern = "pay.*", .max_attempts = 5};
  base.attempt_timeout = absl::Minutes(2);
  base.max_backoff = absl::Seconds(30);
  actord_work_policy own{};
  own.struct_size = sizeof(own);
  WorkPolicy same = base;
  same.pattern = "";
  EXPECT_EQ(*PolicyOfYield(base, own, "pay.charge"), same);

  own.max_attempts = 1;
  own.lease_ns = 20'000'000;
  own.start_timeout_ns = UINT64_MAX;
  own.backoff_ns = 60'000'000'000;
  WorkPolicy expected = same;
  expected.max_attempts = 1;
  expected.lease = absl::Milliseconds(20);
  expected.start_timeout = absl::InfiniteDuration();
  expected.backoff = absl::Minutes(1);
  // The pause that it asks for is not cut by a maximum that it has not named.
  expected.max_backoff = absl::Minutes(1);
  EXPECT_EQ(*PolicyOfYield(base, own, "pay.charge"), expected);
  own.max_backoff_ns = 1;
  expected.max_backoff = absl::Nanoseconds(1);
  EXPECT_EQ(*PolicyOfYield(base, own, "pay.charge"), expected);

  // No pause stays none, however many attempts have failed.
  own.backoff_ns = 1;
  own.max_backoff_ns = 0;
  const WorkPolicy at_once = *PolicyOfYield(base, own, "pay.charge");
  EXPECT_EQ(BackoffAfter(at_once, 1000), absl::ZeroDuration());
}

TEST(WorkPolicy, PolicyOfAYieldHasTheSameLimits) {
  struct Case {
    const char* name;
    std::function<void(actord_work_policy&)> change;
  };
  const Case cases[] = {
      {"max_attempts", [](auto& own) { own.max_attempts = 1'000'001; }},
      {"lease", [](auto& own) { own.lease_ns = 9'999'999; }},
      {"lease", [](auto& own) { own.lease_ns = UINT64_MAX; }},
      {"attempt_timeout", [](auto& own) { own.attempt_timeout_ns = 1; }},
      {"start_timeout", [](auto& own) { own.start_timeout_ns = 1; }},
      {"backoff", [](auto& own) { own.backoff_ns = uint64_t{1} << 63; }},
      {"max_backoff", [](auto& own) { own.max_backoff_ns = UINT64_MAX; }}};
  for (const Case& c : cases) {
    actord_work_policy own{};
    c.change(own);
    const absl::Status status =
        PolicyOfYield(WorkPolicy(), own, "pay.charge").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_NE(status.message().find(c.name), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find("\"pay.charge\""), absl::string_view::npos)
        << status;
  }
}

}  // namespace
}  // namespace actord::runtime
