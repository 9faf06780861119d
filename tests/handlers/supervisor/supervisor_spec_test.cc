// The inputs that a supervisor accepts, and its errors for all others.
#include "handlers/supervisor/supervisor_spec.h"

#include <actord/text.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace actord::handlers {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(SupervisorSpec, LeftOutIsAsTheHeaderSays) {
  const auto spec =
      ParseSupervisorSpec(R"({"children": [{"id": "a", "type": "t"},
          {"id": "b", "type": "supervisor"}]})");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->strategy, Strategy::kOneForOne);
  EXPECT_EQ(spec->intensity, 3);
  EXPECT_EQ(spec->period, milliseconds(5000));
  EXPECT_EQ(spec->backoff.initial, milliseconds(100));
  EXPECT_EQ(spec->backoff.max, milliseconds(30'000));
  EXPECT_EQ(spec->backoff.jitter, 0.2);
  ASSERT_EQ(spec->children.size(), 2u);
  EXPECT_EQ(spec->children[0].restart, Restart::kPermanent);
  EXPECT_EQ(spec->children[0].stop_timeout, milliseconds(5000));
  EXPECT_EQ(spec->children[0].start_timeout, std::nullopt);
  EXPECT_EQ(spec->children[0].final_codes, 0u);
  EXPECT_EQ(nlohmann::json::parse(spec->children[0].spawn),
            nlohmann::json::parse(
                R"({"type":"t","link":true,"monitor":true,"priority":16})"));
  EXPECT_EQ(spec->children[1].stop_timeout, std::nullopt);
}

TEST(SupervisorSpec, EverythingIsTakenAsItSays) {
  const auto spec = ParseSupervisorSpec(
      R"({"strategy": "rest_for_one", "intensity": 0, "period_ms": 1,
          "backoff": {"initial_ms": 7, "max_ms": 7, "jitter": 1},
          "children": [{"id": "a/1:x", "type": "t", "method": "m",
            "input": {"x": [1]}, "priority": 31, "name": "n",
            "restart": "transient", "stop_timeout_ms": 0,
            "start_timeout_ms": 1,
            "final_codes": ["INVALID_ARGUMENT", "UNAUTHENTICATED"]},
           {"id": "b", "type": "t", "restart": "temporary",
            "stop_timeout_ms": "infinity", "start_timeout_ms": "infinity",
            "final_codes": []}]})");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->strategy, Strategy::kRestForOne);
  EXPECT_EQ(spec->intensity, 0);
  EXPECT_EQ(spec->period, milliseconds(1));
  EXPECT_EQ(spec->backoff.max, milliseconds(7));
  EXPECT_EQ(spec->backoff.jitter, 1);
  const ChildSpec& child = spec->children[0];
  EXPECT_EQ(child.id, "a/1:x");
  EXPECT_EQ(child.restart, Restart::kTransient);
  EXPECT_EQ(child.stop_timeout, milliseconds(0));
  EXPECT_EQ(child.start_timeout, milliseconds(1));
  EXPECT_EQ(child.final_codes, (1U << 3) | (1U << 16));
  EXPECT_EQ(nlohmann::json::parse(child.spawn),
            nlohmann::json::parse(
                R"({"type":"t","link":true,"monitor":true,"method":"m",
                    "priority":31,"name":"n","input":{"x":[1]}})"));
  EXPECT_EQ(spec->children[1].restart, Restart::kTemporary);
  EXPECT_EQ(spec->children[1].stop_timeout, std::nullopt);
  EXPECT_EQ(spec->children[1].start_timeout, std::nullopt);
  EXPECT_EQ(spec->children[1].final_codes, 0u);
}

TEST(SupervisorSpec, NothingIsASupervisorWithoutChildren) {
  ASSERT_TRUE(ParseSupervisorSpec("").ok());
  ASSERT_TRUE(ParseSupervisorSpec("{}").ok());
  EXPECT_FALSE(ParseChildSpec("").ok());
}

TEST(SupervisorSpec, AnInitialPauseAboveTheUsualMostIsTheMost) {
  const auto spec =
      ParseSupervisorSpec(R"({"backoff": {"initial_ms": 60000}})");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->backoff.max, milliseconds(60'000));
}

TEST(SupervisorSpec, EachErrorNamesItsField) {
  const auto child = [](const std::string& fields) {
    return R"({"children": [{"id": "ok", "type": "t"}, {)" + fields + "}]}";
  };
  const auto nested = [&](const std::string& input) {
    return child(R"("id": "a", "type": "supervisor", "input": )" + input);
  };
  const struct {
    std::string json;
    std::string says;
  } kCases[] = {
      {"[", "the payload is not JSON"},
      {"[]", "the payload is a JSON array"},
      {R"({"strategie": "x"})", "field \"strategie\" is not known"},
      {R"({"strategy": "all"})", "field \"strategy\" is \"all\""},
      {R"({"strategy": 1})", "field \"strategy\" is a JSON number"},
      {R"({"intensity": -1})", "field \"intensity\" is -1"},
      {R"({"intensity": 1001})", "field \"intensity\" is 1001"},
      {R"({"intensity": 1.5})", "field \"intensity\" is 1.5"},
      {R"({"intensity": 99999999999999999999})", "field \"intensity\" is"},
      {R"({"period_ms": 0})", "field \"period_ms\" is 0"},
      {R"({"period_ms": 86400001})", "field \"period_ms\" is 86400001"},
      {R"({"backoff": 1})", "field \"backoff\" is a JSON number"},
      {R"({"backoff": {"x": 1}})", "field \"backoff.x\" is not known"},
      {R"({"backoff": {"initial_ms": 0}})", "\"backoff.initial_ms\" is 0"},
      {R"({"backoff": {"initial_ms": 5, "max_ms": 4}})",
       "\"backoff.max_ms\" is below initial_ms"},
      {R"({"backoff": {"jitter": 1.1}})", "\"backoff.jitter\" is 1.1"},
      {R"({"backoff": {"jitter": -0.1}})", "\"backoff.jitter\" is -0.1"},
      {R"({"backoff": {"jitter": "x"}})", "\"backoff.jitter\" is a JSON str"},
      {R"({"children": {}})", "field \"children\" is a JSON object"},
      {R"({"children": [1]})", "field \"children[0]\" is a JSON number"},
      {child(R"("type": "t")"), "field \"children[1].id\" is missing"},
      {child(R"("id": "a")"), "field \"children[1].type\" is missing"},
      {child(R"("id": "", "type": "t")"), "\"children[1].id\" is \"\""},
      {child(R"("id": "a b", "type": "t")"), "\"children[1].id\" is \"a b\""},
      {child(R"("id": "ok", "type": "t")"),
       "\"children[1].id\" is \"ok\", as that of another child"},
      {child(R"("id": "a", "type": "")"), "\"children[1].type\" is \"\""},
      {child(R"("id": "a", "type": ")" + std::string(129, 't') + "\""),
       "\"children[1].type\" is \"ttt"},
      {child(R"("id": "a", "type": "t", "method": "a b")"),
       "\"children[1].method\" is \"a b\""},
      {child(R"("id": "a", "type": "t", "name": "a b")"),
       "\"children[1].name\" is \"a b\""},
      {child(R"("id": "a", "type": "t", "kind": 1)"),
       "field \"children[1].kind\" is not known"},
      {child(R"("id": "a", "type": "t", "restart": "never")"),
       "\"children[1].restart\" is \"never\""},
      {child(R"("id": "a", "type": "t", "priority": 32)"),
       "\"children[1].priority\" is 32"},
      {child(R"("id": "a", "type": "t", "name": 1)"),
       "\"children[1].name\" is a JSON number"},
      {child(R"("id": "a", "type": "t", "stop_timeout_ms": -1)"),
       "\"children[1].stop_timeout_ms\" is -1"},
      {child(R"("id": "a", "type": "t", "stop_timeout_ms": "soon")"),
       "\"children[1].stop_timeout_ms\" is \"soon\""},
      {child(R"("id": "a", "type": "t", "start_timeout_ms": 0)"),
       "\"children[1].start_timeout_ms\" is 0"},
      {child(R"("id": "a", "type": "t", "start_timeout_ms": 86400001)"),
       "\"children[1].start_timeout_ms\" is 86400001"},
      {child(R"("id": "a", "type": "t", "start_timeout_ms": "soon")"),
       "\"children[1].start_timeout_ms\" is \"soon\""},
      {child(R"("id": "a", "type": "t", "final_codes": "ABORTED")"),
       "field \"children[1].final_codes\" is a JSON string"},
      {child(R"("id": "a", "type": "t", "final_codes": ["ABORTED", 9])"),
       "field \"children[1].final_codes[1]\" is a JSON number"},
      {child(R"("id": "a", "type": "t", "final_codes": ["OK"])"),
       "field \"children[1].final_codes[0]\" is \"OK\""},
      {nested(R"({"strategy": "x"})"),
       "field \"children[1].input.strategy\" is \"x\""},
      {nested(R"({"children": [{"id": "a"}]})"),
       "field \"children[1].input.children[0].type\" is missing"},
      {nested("7"), "field \"children[1].input\" is a JSON number"},
      {nested(R"("{\"intensity\": -1}")"),
       "field \"children[1].input\": field \"intensity\" is -1"},
  };
  for (const auto& each : kCases) {
    const auto spec = ParseSupervisorSpec(each.json);
    ASSERT_FALSE(spec.ok()) << each.json;
    EXPECT_EQ(spec.error().code, Code::kInvalidArgument) << each.json;
    EXPECT_THAT(spec.status().message(), HasSubstr(each.says));
    EXPECT_THAT(spec.status().message(), HasSubstr("wanted is {"));
  }
}

TEST(SupervisorSpec, AnErrorOfAChildStatesTheRulesOfItsNames) {
  const auto child = ParseChildSpec(R"({"id": "a b", "type": "t"})");
  ASSERT_FALSE(child.ok());
  const std::string text = child.status().message();
  for (const char* field : {"id", "name"}) {
    EXPECT_THAT(text, HasSubstr("\"" + std::string(field) +
                                "\": " + std::string(kNameRule)));
  }
  for (const char* field : {"type", "method"}) {
    EXPECT_THAT(text, HasSubstr("\"" + std::string(field) +
                                "\": " + std::string(kDeclaredNameRule)));
  }
}

TEST(SupervisorSpec, AThousandChildrenAreTheMost) {
  nlohmann::json spec;
  for (int i = 0; i < 1000; ++i) {
    spec["children"].push_back({{"id", std::to_string(i)}, {"type", "t"}});
  }
  EXPECT_TRUE(ParseSupervisorSpec(spec.dump()).ok());
  spec["children"].push_back({{"id", "more"}, {"type", "t"}});
  EXPECT_THAT(ParseSupervisorSpec(spec.dump()).status().message(),
              HasSubstr("\"children\" has 1001 children"));
}

// In each way of nesting.
TEST(SupervisorSpec, DepthIsLimited) {
  const auto nest = [](int levels) {
    std::string spec = "{}";
    for (int i = 0; i < levels; ++i) {
      spec = R"({"children": [{"id": "a", "type": "supervisor", "input": )" +
             spec + "}]}";
    }
    return spec;
  };
  EXPECT_TRUE(ParseSupervisorSpec(nest(15)).ok());
  EXPECT_THAT(ParseSupervisorSpec(nest(16)).status().message(),
              HasSubstr("below 16 others, which is the limit"));
  const nlohmann::json in_text = {
      {"children",
       {{{"id", "a"}, {"type", "supervisor"}, {"input", nest(15)}}}}};
  EXPECT_THAT(ParseSupervisorSpec(in_text.dump()).status().message(),
              HasSubstr("below 16 others, which is the limit"));
  EXPECT_THAT(ParseSupervisorSpec(nest(22)).status().message(),
              HasSubstr("nested deeper than 64"));
}

}  // namespace
}  // namespace actord::handlers
