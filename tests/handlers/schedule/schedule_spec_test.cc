// The inputs that a schedule accepts, and its errors for all others.
#include "handlers/schedule/schedule_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace actord::handlers {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ScheduleSpec, LeftOutIsAsTheHeaderSays) {
  const auto spec = ParseScheduleSpec(
      R"({"cron": "*/5 * * * *", "submit": {"type": "report"}})");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_TRUE(spec->cron);
  EXPECT_EQ(spec->catch_up, CatchUp::kSkip);
  EXPECT_EQ(spec->grace, std::chrono::minutes(1));
  EXPECT_FALSE(spec->paused);
  EXPECT_EQ(spec->command, "process.spawn");
  EXPECT_EQ(
      json::parse(spec->payload),
      json({{"type", "report"}, {"keep_result", false}, {"priority", 16}}));
  EXPECT_EQ(spec->when, "*/5 * * * *");
  EXPECT_EQ(spec->what, "submit report");
}

TEST(ScheduleSpec, EverythingIsTakenAsItSays) {
  auto spec = ParseScheduleSpec(
      R"({"every_ms": 5400000, "catch_up": "all", "grace_ms": 1000,
          "paused": true,
          "submit": {"type": "t", "method": "m", "input": {"a": [1]},
                     "name": "n/1", "priority": 31, "keep_result": true}})");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_FALSE(spec->cron);
  EXPECT_EQ(spec->every, std::chrono::minutes(90));
  EXPECT_EQ(spec->when, "every 90m");
  EXPECT_EQ(spec->catch_up, CatchUp::kAll);
  EXPECT_EQ(spec->grace, std::chrono::seconds(1));
  EXPECT_TRUE(spec->paused);
  EXPECT_EQ(json::parse(spec->payload), json({{"type", "t"},
                                              {"method", "m"},
                                              {"input", {{"a", {1}}}},
                                              {"name", "n/1"},
                                              {"keep_result", true},
                                              {"priority", 31}}));
  spec = ParseScheduleSpec(
      R"({"every_ms": 1500, "catch_up": "once",
          "send": {"to": "@orders/17", "topic": "tick", "payload": "text"}})");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->when, "every 1500ms");
  EXPECT_EQ(spec->catch_up, CatchUp::kOnce);
  EXPECT_EQ(spec->command, "process.send");
  EXPECT_EQ(spec->send_to, "@orders/17");
  EXPECT_EQ(
      json::parse(spec->payload),
      json({{"to", "@orders/17"}, {"topic", "tick"}, {"payload", "text"}}));
}

TEST(ScheduleSpec, InvalidSpecIsRefusedWithTheReason) {
  const struct {
    const char* input;
    const char* why;
  } kCases[] = {
      {"", "not JSON"},
      {"[]", "is a JSON array"},
      {"{}", "\"cron\" or \"every_ms\" is missing"},
      {R"({"cron": "* * * * *", "every_ms": 1000})", "exclude each other"},
      {R"({"cron": 5})", "field \"cron\" is a JSON number"},
      {R"({"cron": "61 * * * *"})", "the minute has \"61\""},
      {R"({"every_ms": 999})", "field \"every_ms\" is 999"},
      {R"({"every_ms": 31622400001})", "field \"every_ms\" is 31622400001"},
      {R"({"every_ms": "5m"})", "field \"every_ms\" is a JSON string"},
      {R"({"every_ms": 1000})", "\"submit\" or \"send\" is missing"},
      {R"({"every_ms": 1000, "submit": {}, "send": {}})", "exclude each other"},
      {R"({"every_ms": 1000, "submit": []})", "\"submit\" is a JSON array"},
      {R"({"every_ms": 1000, "submit": {}})", "\"submit.type\" is missing"},
      {R"({"every_ms": 1000, "submit": {"type": "a b"}})",
       "field \"submit.type\" is \"a b\""},
      {R"({"every_ms": 1000, "submit": {"type": "a", "method": "b c"}})",
       "field \"submit.method\" is \"b c\""},
      {R"({"every_ms": 1000, "submit": {"type": "a", "name": "@b"}})",
       "field \"submit.name\" is \"@b\""},
      {R"({"every_ms": 1000, "submit": {"type": "a", "priority": 32}})",
       "field \"submit.priority\" is 32"},
      {R"({"every_ms": 1000, "submit": {"type": "a", "link": true}})",
       "\"submit.link\" is not known"},
      {R"({"every_ms": 1000, "send": {"topic": "a"}})",
       "\"send.to\" is missing"},
      {R"({"every_ms": 1000, "send": {"to": "@"}})",
       "field \"send.to\" is \"@\""},
      {R"({"every_ms": 1000, "submit": {"type": "a"}, "catch_up": "none"})",
       "field \"catch_up\" is \"none\""},
      {R"({"every_ms": 1000, "submit": {"type": "a"}, "grace_ms": 999})",
       "field \"grace_ms\" is 999"},
      {R"({"every_ms": 1000, "submit": {"type": "a"}, "zone": "CET"})",
       "\"zone\" is not known"},
  };
  for (const auto& each : kCases) {
    const auto spec = ParseScheduleSpec(each.input);
    ASSERT_FALSE(spec.ok()) << each.input;
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(spec.status().message(), HasSubstr(each.why)) << each.input;
  }
}

TEST(ScheduleSpec, InputAndTopicOfARunAreBounded) {
  json input = {
      {"every_ms", 1000},
      {"submit", {{"type", "a"}, {"input", std::string(66'000, 'x')}}}};
  EXPECT_THAT(ParseScheduleSpec(input.dump()).status().message(),
              HasSubstr("the limit is 65536"));
  input["submit"]["input"] = std::string(2'000, 'x');
  EXPECT_TRUE(ParseScheduleSpec(input.dump()).ok());
  EXPECT_THAT(ParseScheduleSpec(input.dump(), 2'000).status().message(),
              HasSubstr("the limit is 2000"));
  input = {{"every_ms", 1000},
           {"send", {{"to", "@a"}, {"topic", std::string(1'025, 'x')}}}};
  EXPECT_THAT(ParseScheduleSpec(input.dump()).status().message(),
              HasSubstr("\"send.topic\" has 1025 bytes; the limit is 1024"));
}

}  // namespace
}  // namespace actord::handlers
