#include "client/cli/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/output/exit_status.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using testing::HasSubstr;

// 2027-01-15T08:00:00Z and half a second.
const absl::Time kNow =
    absl::FromUnixSeconds(1'800'000'000) + absl::Milliseconds(500);

TEST(ParseExpiry, TakesDurationsAndTimes) {
  const struct {
    const char* text;
    const char* expires;
  } cases[] = {
      {"90d", "2027-04-15T08:00:00Z"},
      {"1d", "2027-01-16T08:00:00Z"},
      {"12h", "2027-01-15T20:00:00Z"},
      {"1h30m", "2027-01-15T09:30:00Z"},
      // Seconds, rounded down.
      {"1.4s", "2027-01-15T08:00:01Z"},
      {"2027-01-31T00:00:00Z", "2027-01-31T00:00:00Z"},
      {"2027-01-31T00:00:00.9Z", "2027-01-31T00:00:00Z"},
      {"2027-01-31T01:00:00+02:00", "2027-01-30T23:00:00Z"},
  };
  for (const auto& c : cases) {
    const auto expires = ParseExpiry(c.text, kNow);
    ASSERT_TRUE(expires.ok()) << c.text << ": " << expires.status();
    EXPECT_EQ(ExpiryText(*expires), c.expires) << c.text;
  }
  EXPECT_EQ(ExpiryText(absl::InfiniteFuture()), "never");
}

TEST(ParseExpiry, RefusesOtherTextsAsUsageErrors) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"", "is not a duration such as 90d or 12h"},
      {"d", "is not a duration"},
      {"90", "is not a duration"},
      {"90 d", "is not a duration"},
      {"+90d", "is not a duration"},
      {"-1h", "is not a duration"},
      {"1d12h", "is not a duration"},
      {"99999999999999999999d", "is not a duration"},
      {"inf", "is not a duration"},
      {"never", "is not a duration"},
      {"infinite-future", "is not a duration"},
      {"2027-01-31", "is not a duration"},
      {"2027-01-31T00:00:00", "is not a duration"},
      {"2027-02-30T00:00:00Z", "is not a duration"},
      {"0d", "is not in the future"},
      {"0s", "is not in the future"},
      {"100ms", "is not in the future"},
      {"2027-01-15T08:00:00Z", "is not in the future"},
      {"1999-01-01T00:00:00Z", "is not in the future"},
      {"36501d", "is more than 100 years from now"},
      {"9999-01-01T00:00:00Z", "is more than 100 years from now"},
      {"9223372036854775807d", "is more than 100 years from now"},
  };
  for (const auto& c : cases) {
    const absl::Status status = ParseExpiry(c.text, kNow).status();
    EXPECT_EQ(ExitStatusOf(status), ExitStatus::kUsage) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.why)) << c.text;
  }
}

TEST(TokenJson, LeavesOutAnExpiryThatNeverComes) {
  identity::Identity identity;
  identity.token_id = "04107zqz";
  identity.name = "app";
  identity.role = identity::Role::kWorker;
  identity.work = {"payment.*"};
  EXPECT_EQ(TokenJson(identity).dump(),
            R"({"id":"04107zqz","name":"app","role":"worker","submit":[],)"
            R"("send":[],"work":["payment.*"],"see":"own"})");
  identity.expires = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_EQ(TokenJson(identity)["expires"], "2027-01-15T08:00:00Z");
}

}  // namespace
}  // namespace actord::client
