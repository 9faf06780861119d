#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "daemon/settings/config.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Config> With(const std::map<std::string, std::string>& set) {
  return LoadConfig(
      "", {}, [&set](const std::string& name) -> std::optional<std::string> {
        const auto found = set.find(name);
        if (found == set.end()) return std::nullopt;
        return found->second;
      });
}

TEST(AuthConfig, FileOfTokensMeansEnforceUnlessTheModeIsSet) {
  EXPECT_EQ(AuthModeInForce(Config()), AuthMode::kOff);
  EXPECT_EQ(AuthModeInForce(*With({{"ACTORD_AUTH_TOKENS", "t"}})),
            AuthMode::kEnforce);
  const std::map<std::string, AuthMode> modes = {
      {"", AuthMode::kEnforce},
      {"off", AuthMode::kOff},
      {"observe", AuthMode::kObserve},
      {"enforce", AuthMode::kEnforce}};
  for (const auto& [text, mode] : modes) {
    const auto config =
        With({{"ACTORD_AUTH_TOKENS", "t"}, {"ACTORD_AUTH_MODE", text}});
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(AuthModeInForce(*config), mode) << text;
  }
}

TEST(AuthConfig, ModeThatChecksTokensNeedsAFileOfThem) {
  for (const char* mode : {"observe", "enforce"}) {
    EXPECT_THAT(
        std::string(With({{"ACTORD_AUTH_MODE", mode}}).status().message()),
        HasSubstr(std::string("ACTORD_AUTH_MODE: ") + mode +
                  " needs a file of tokens, auth.tokens"));
  }
  EXPECT_TRUE(With({{"ACTORD_AUTH_MODE", "off"}}).ok());
  EXPECT_TRUE(With({{"ACTORD_AUTH_MODE", ""}}).ok());
}

TEST(AuthConfig, QuotasOfBytesHaveBounds) {
  for (const char* size : {"1023", "1025GiB"}) {
    EXPECT_THAT(std::string(With({{"ACTORD_QUOTA_BYTES_PER_SECOND", size},
                                  {"ACTORD_AUTH_TOKENS", "t"}})
                                .status()
                                .message()),
                HasSubstr("is not between 1KiB and 1024GiB"));
  }
}

TEST(AuthConfig, OtherModesAreRefusedWithTheGoodOnes) {
  EXPECT_EQ(With({{"ACTORD_AUTH_MODE", "on"}}).status().message(),
            "ACTORD_AUTH_MODE: \"on\" is not one of off, observe, enforce");
}

}  // namespace
}  // namespace actord::daemon
