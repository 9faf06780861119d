#include "daemon/settings/work_policy_text.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

TEST(WorkPolicyText, ReadsBackToTheSame) {
  const char kText[] =
      "payment.* max_attempts=3 lease=1m attempt_timeout=none "
      "start_timeout=10s backoff=500ms max_backoff=5s";
  const auto policy = ParseWorkPolicyText(kText);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->pattern, "payment.*");
  EXPECT_EQ(policy->max_attempts, 3u);
  EXPECT_EQ(policy->lease, absl::Minutes(1));
  EXPECT_EQ(policy->attempt_timeout, absl::InfiniteDuration());
  EXPECT_EQ(policy->start_timeout, absl::Seconds(10));
  EXPECT_EQ(policy->backoff, absl::Milliseconds(500));
  EXPECT_EQ(policy->max_backoff, absl::Seconds(5));
  EXPECT_EQ(FormatWorkPolicyText(*policy), kText);
}

TEST(WorkPolicyText, OmittedValuesAreTheDefaults) {
  const auto policy = ParseWorkPolicyText("  *  lease=1h ");
  ASSERT_TRUE(policy.ok()) << policy.status();
  runtime::WorkPolicy expected;
  expected.lease = absl::Hours(1);
  EXPECT_EQ(*policy, expected);
}

TEST(WorkPolicyText, NamesAnInvalidValue) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  const Case cases[] = {{"", "must begin with a command"},
                        {"lease=1m", "must begin with a command"},
                        {"a lease", "\"lease\" is not of the form"},
                        {"a leas=1m", "\"leas\" is not one of max_attempts"},
                        {"a lease=1", "lease: "},
                        {"a lease=1s lease=2s", "lease is given twice"},
                        {"a max_attempts=-1", "-1"},
                        {"a max_attempts=5000000000", "too large"}};
  for (const Case& c : cases) {
    const auto policy = ParseWorkPolicyText(c.text);
    EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(policy.status().message().find(c.complaint),
              absl::string_view::npos)
        << c.text << ": " << policy.status();
  }
}

}  // namespace
}  // namespace actord::daemon
