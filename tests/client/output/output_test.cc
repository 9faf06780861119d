#include "client/output/output.h"

#include <gtest/gtest.h>

#include <sstream>

#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

Item MakeItem(const std::string& name, const std::string& count) {
  return {.json =
              [=] {
                return Json{{"name", name}};
              },
          .name = [=] { return name; },
          .cells =
              [=] {
                return std::vector<std::string>{name, count, "wide"};
              }};
}

std::string WriteList(Format format, const std::vector<Item>& items,
                      bool colour = false) {
  std::ostringstream out;
  ListWriter writer(out, {.format = format, .colour = colour},
                    {{.heading = "NAME"},
                     {.heading = "COUNT", .number = true},
                     {.heading = "MORE", .wide_only = true}});
  for (const Item& item : items) writer.Add(item);
  writer.Finish();
  return out.str();
}

const std::vector<Item>& TwoItems() {
  static const auto& items = *new std::vector<Item>{
      MakeItem("first", "1"), MakeItem("gr\u00fc\u00df", "1000000")};
  return items;
}

TEST(ListWriter, AlignsATable) {
  EXPECT_EQ(WriteList(Format::kTable, TwoItems()),
            "NAME     COUNT\n"
            "first        1\n"
            "gr\u00fc\u00df   1000000\n");
}

TEST(ListWriter, ShowsEveryColumnWhenWide) {
  EXPECT_EQ(WriteList(Format::kWide, TwoItems()),
            "NAME     COUNT  MORE\n"
            "first        1  wide\n"
            "gr\u00fc\u00df   1000000  wide\n");
}

TEST(ListWriter, WritesEachFormatForPrograms) {
  EXPECT_EQ(WriteList(Format::kName, TwoItems()), "first\ngr\u00fc\u00df\n");
  EXPECT_EQ(WriteList(Format::kJsonl, TwoItems()),
            "{\"name\":\"first\"}\n{\"name\":\"gr\u00fc\u00df\"}\n");
  EXPECT_EQ(WriteList(Format::kYaml, TwoItems()),
            "- name: first\n- name: \"gr\u00fc\u00df\"\n");
  const Json written = Json::parse(WriteList(Format::kJson, TwoItems()));
  EXPECT_EQ(written.dump(), R"([{"name":"first"},{"name":"grüß"}])");
}

TEST(ListWriter, WritesAnEmptyList) {
  EXPECT_EQ(WriteList(Format::kTable, {}), "");
  EXPECT_EQ(WriteList(Format::kName, {}), "");
  EXPECT_EQ(WriteList(Format::kJsonl, {}), "");
  EXPECT_EQ(WriteList(Format::kYaml, {}), "[]\n");
  EXPECT_EQ(WriteList(Format::kJson, {}), "[]\n");
}

TEST(ListWriter, EmphasisesHeadingsIfAsked) {
  EXPECT_EQ(WriteList(Format::kTable, {MakeItem("a", "1")}, true),
            "\x1b[1mNAME  COUNT\x1b[0m\na         1\n");
}

TEST(ListWriter, ReplacesControlCharactersInCells) {
  EXPECT_EQ(WriteList(Format::kTable, {MakeItem("a\x1b[2J\nb", "1")}),
            "NAME     COUNT\na?[2J b      1\n");
}

TEST(ListWriter, WritesPagesUnderOneHeading) {
  std::ostringstream out;
  ListWriter writer(out, {.format = Format::kTable}, {{.heading = "NAME"}});
  const auto add = [&](const std::string& name) {
    writer.Add({.json = nullptr, .name = nullptr, .cells = [&] {
                  return std::vector<std::string>{name};
                }});
  };
  add("a");
  writer.EndPage();
  EXPECT_EQ(out.str(), "NAME\na\n");
  add("b");
  writer.EndPage();
  writer.Finish();
  EXPECT_EQ(out.str(), "NAME\na\nb\n");
}

TEST(WriteRaw, AddsALineEndForATerminalOrBetweenResults) {
  const auto written = [](const std::string& data, bool terminal,
                          bool separate) {
    v1::Payload payload;
    payload.set_data(data);
    std::ostringstream out;
    WriteRaw(out, {.terminal = terminal}, payload, separate);
    return out.str();
  };
  EXPECT_EQ(written("x", false, false), "x");
  EXPECT_EQ(written("x", true, false), "x\n");
  EXPECT_EQ(written("x\n", true, false), "x\n");
  EXPECT_EQ(written("x", false, true), "x\n");
  EXPECT_EQ(written("", true, false), "");
  EXPECT_EQ(written("", false, true), "\n");
  EXPECT_EQ(written("two\tof\nthem", true, false), "two\tof\nthem\n");
  EXPECT_EQ(written(std::string("\0\xff", 2), false, false),
            std::string("\0\xff", 2));
}

TEST(WriteRaw, ReplacesControlCharactersForATerminal) {
  v1::Payload payload;
  payload.set_data("a\x1b[2J\u202eb\u009bc\xff\r\n");
  std::ostringstream terminal;
  WriteRaw(terminal, {.terminal = true}, payload);
  EXPECT_EQ(terminal.str(), "a?[2J?b?c?\n");
  std::ostringstream pipe;
  WriteRaw(pipe, {.terminal = false}, payload);
  EXPECT_EQ(pipe.str(), payload.data());
}

TEST(WriteOne, ReplacesControlCharactersInNames) {
  const auto written = [](bool terminal) {
    std::ostringstream out;
    WriteOne(out, {.format = Format::kName, .terminal = terminal}, Json(),
             "first\x1b[2J\nsecond", [] {});
    ListWriter writer(out, {.format = Format::kName, .terminal = terminal}, {});
    writer.Add(MakeItem("\u202ethird", "1"));
    return out.str();
  };
  EXPECT_EQ(written(true), "first?[2J\nsecond\n?third\n");
  EXPECT_EQ(written(false), "first\x1b[2J\nsecond\n\u202ethird\n");
}

TEST(WriteFields, AlignsValuesInOneColumn) {
  std::ostringstream out;
  WriteFields(out, {{"PID", "p-1"}, {"Mailbox", "3\n4"}});
  EXPECT_EQ(out.str(), "PID:      p-1\nMailbox:  3 4\n");
}

}  // namespace
}  // namespace actord::client
