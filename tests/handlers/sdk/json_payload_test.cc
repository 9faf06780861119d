#include <actord/json.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace actord {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(JsonPayload, GoesThereAndBack) {
  const json value = {{"order", "o-1"}, {"amounts", {1, 2.5, nullptr}}};
  const OwnedPayload payload = JsonPayload(value);
  EXPECT_EQ(payload.content_type, "application/json");
  EXPECT_EQ(ParseJson(payload).value(), value);
}

TEST(JsonPayload, PayloadWithoutAContentTypeIsJson) {
  EXPECT_EQ(ParseJson(Payload("[1]", {})).value(), json::array({1}));
}

TEST(JsonPayload, BadTextIsAnErrorThatSaysWhere) {
  const auto parsed = ParseJson("{\"a\":}");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.error().message),
              HasSubstr("at byte 6, before '}'"));
  EXPECT_THAT(std::string(ParseJson("").error().message),
              HasSubstr("empty, and not JSON"));
  EXPECT_THAT(std::string(ParseJson("{\"a\":").error().message),
              HasSubstr("ends too early"));
  EXPECT_THAT(std::string(ParseJson("1e999").error().message),
              HasSubstr("out of range"));
}

TEST(JsonPayload, TextMayBeJson) {
  EXPECT_EQ(ParseJson("[1]").value(), json::array({1}));
}

TEST(JsonPayload, AnotherContentTypeIsAnError) {
  const auto parsed = ParseJson(Payload::Binary("1"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(std::string(parsed.error().message),
              HasSubstr("application/octet-stream"));
}

TEST(JsonPayload, InvalidUtf8IsReplaced) {
  EXPECT_EQ(ParseJson(JsonPayload("\xff")).value(), json("\xef\xbf\xbd"));
}

}  // namespace
}  // namespace actord
