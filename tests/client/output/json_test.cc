#include "client/output/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/output/exit_status.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using testing::HasSubstr;

std::string Nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(CheckJson, NamesThePlaceOfAnError) {
  EXPECT_TRUE(CheckJson(R"( {"a": [1, true, null, "x"]} )").ok());
  const absl::Status status = CheckJson(R"({"a": })");
  EXPECT_EQ(ExitStatusOf(status), ExitStatus::kUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("byte 7"));
  EXPECT_FALSE(CheckJson("").ok());
  EXPECT_FALSE(CheckJson("1 2").ok());
}

TEST(CheckJson, RefusesDeepNesting) {
  EXPECT_TRUE(CheckJson(Nested(100)).ok());
  EXPECT_THAT(std::string(CheckJson(Nested(101)).message()),
              HasSubstr("nested deeper"));
  EXPECT_FALSE(CheckJson(Nested(1'000'000)).ok());
}

TEST(IsFaithfulJson, FindsValuesThatAParserWouldChange) {
  for (const char* text : {"1", "-1", "18446744073709551615", "0.1", "1e5",
                           R"({"a":1,"b":{"a":2}})", "[]"}) {
    EXPECT_TRUE(IsFaithfulJson(text)) << text;
  }
  for (const char* text :
       {"18446744073709551616", "0.12345678901234567890", R"({"a":1,"a":2})",
        R"([{"x":{"b":1,"b":1}}])", "no json", ""}) {
    EXPECT_FALSE(IsFaithfulJson(text)) << text;
  }
}

TEST(SplitObject, ReturnsEachValueByteForByte) {
  const std::string line =
      R"( { "a" : 1.50 , "b":{"z":1, "a":[ "]}" ,2]},"c":"x\"}y" , "d":null } )";
  const auto members = SplitObject(line);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 4U);
  EXPECT_EQ(members->at("a"), "1.50");
  EXPECT_EQ(members->at("b"), R"({"z":1, "a":[ "]}" ,2]})");
  EXPECT_EQ(members->at("c"), R"("x\"}y")");
  EXPECT_EQ(members->at("d"), "null");
}

TEST(SplitObject, DecodesEscapedKeys) {
  const auto members = SplitObject(R"({"a\u0062\"":1})");
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(members->count("ab\""), 1U);
}

TEST(SplitObject, AcceptsTheEmptyObject) {
  const auto members = SplitObject(" { } ");
  ASSERT_TRUE(members.ok());
  EXPECT_TRUE(members->empty());
}

TEST(SplitObject, RefusesOtherValues) {
  for (const char* line : {"[1]", "1", "\"{}\"", "", "{", R"({"a":1,})",
                           R"({"a":1} x)", R"({"a":1,"a":2})"}) {
    EXPECT_FALSE(SplitObject(line).ok()) << line;
  }
}

TEST(Write, ReplacesBrokenUtf8) {
  EXPECT_EQ(Write(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Write, EscapesCharactersThatActOnATerminal) {
  for (const auto& [text, written] :
       {std::pair<const char*, const char*>{"a\x7f", "a\\u007f"},
        {"\u0080", "\\u0080"},
        {"\u0085", "\\u0085"},
        {"\u009b2J", "\\u009b2J"},
        {"\u061c", "\\u061c"},
        {"\u2028\u2029", "\\u2028\\u2029"},
        {"\u202egpj.exe", "\\u202egpj.exe"},
        {"\u2066\u2069", "\\u2066\\u2069"},
        {"\ufeff", "\\ufeff"},
        {"\xef\xbf\xbe\xef\xbf\xbf", "\\ufffe\\uffff"},
        {"gr\u00fc\u00df \U0001F600", "gr\u00fc\u00df \U0001F600"}}) {
    const std::string quoted = std::string("\"") + written + "\"";
    EXPECT_EQ(Write(Json(text)), quoted);
    EXPECT_EQ(Json::parse(quoted), Json(text));
    // A key is escaped like a value.
    EXPECT_EQ(Write(Json{{text, {{"k", text}}}}, true),
              "{\n  " + quoted + ": {\n    \"k\": " + quoted + "\n  }\n}");
    EXPECT_EQ(WriteYaml(Json{{text, text}}), quoted + ": " + quoted + "\n");
  }
}

// A reader of YAML 1.1 takes 1e+300 for a string.
TEST(WriteYaml, WritesAPointIntoANumberWithAnExponent) {
  EXPECT_EQ(WriteYaml(Json(1e300)), "1.0e+300\n");
  EXPECT_EQ(WriteYaml(Json(-1e-300)), "-1.0e-300\n");
  EXPECT_EQ(WriteYaml(Json(1.5e300)), "1.5e+300\n");
  EXPECT_EQ(WriteYaml(Json(2.0)), "2.0\n");
  EXPECT_EQ(WriteYaml(Json(12)), "12\n");
}

TEST(WriteYaml, WritesAQuestionMarkBeforeALongKey) {
  const std::string longest(1000, 'k');
  const std::string too_long(1001, 'k');
  EXPECT_EQ(WriteYaml(Json{{longest, 1}}), longest + ": 1\n");
  EXPECT_EQ(WriteYaml(Json::array({{{too_long, 1}, {"b", {{too_long, {1}}}}}})),
            "- ? " + too_long + "\n  : 1\n  b:\n    ? " + too_long +
                "\n    :\n      - 1\n");
}

TEST(WriteYaml, NestsMapsAndLists) {
  const Json value = Json::parse(
      R"({"pid":"1-2","steps":3,"done":true,"none":null,
          "list":[1,[2,3],{"a":{"b":1}},{}],"empty":[],"map":{"k":"v"}})");
  EXPECT_EQ(WriteYaml(value),
            "pid: \"1-2\"\n"
            "steps: 3\n"
            "done: true\n"
            "none: null\n"
            "list:\n"
            "  - 1\n"
            "  - - 2\n"
            "    - 3\n"
            "  - a:\n"
            "      b: 1\n"
            "  - {}\n"
            "empty: []\n"
            "map:\n"
            "  k: v\n");
}

TEST(WriteYaml, QuotesTextsThatYamlReadsAsOtherTypes) {
  for (const char* text :
       {"", "true", "No", "null", "1", "1.5", "2026-01-01", "a: b", "- x",
        "a #b", "~", "*x", "x y", "line\nend", "@x", "{", "y"}) {
    EXPECT_EQ(WriteYaml(Json(text)), Write(Json(text)) + "\n") << text;
  }
  EXPECT_EQ(WriteYaml(Json("payment.charge")), "payment.charge\n");
  EXPECT_EQ(WriteYaml(Json("application/json")), "application/json\n");
}

}  // namespace
}  // namespace actord::client
