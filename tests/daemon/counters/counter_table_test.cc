// The tables of counters, the message Counters and docs/counters.md name the
// same counters and say the same of each.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/counters/counter_values.h"
#include "google/protobuf/descriptor.h"

namespace actord::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using runtime::CounterInfo;
using runtime::CounterKind;

std::vector<CounterInfo> AllCounters() {
  std::vector<CounterInfo> all;
  ForEachCounter({}, {}, [&all](const CounterInfo& info, uint64_t /*value*/) {
    all.push_back(info);
  });
  return all;
}

std::string Read(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The comment above each field of the message Counters, as one line.
std::map<std::string, std::string> CommentsOfFields() {
  std::map<std::string, std::string> comments;
  const std::string text = Read(ACTORD_TEST_COUNTERS_PROTO);
  const size_t begin = text.find("message Counters {\n");
  EXPECT_NE(begin, std::string::npos);
  std::string comment;
  const std::vector<std::string> lines = absl::StrSplit(
      text.substr(begin, text.find("\n}\n", begin) - begin), '\n');
  for (const std::string& line : lines) {
    const std::string words(absl::StripAsciiWhitespace(line));
    if (words.rfind("// ", 0) == 0) {
      absl::StrAppend(&comment, comment.empty() ? "" : " ", words.substr(3));
      continue;
    }
    if (words.rfind("uint64 ", 0) == 0) {
      comments[words.substr(7, words.find(" = ") - 7)] = comment;
    }
    comment.clear();
  }
  return comments;
}

template <typename Rows>
void ExpectOrderOfNumbers(const Rows& rows) {
  int last = 0;
  for (const auto& row : rows) {
    const FieldDescriptor* const field =
        v1::Counters::descriptor()->FindFieldByName(row.info.name);
    ASSERT_NE(field, nullptr) << row.info.name;
    EXPECT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_UINT64)
        << row.info.name;
    EXPECT_FALSE(field->is_repeated()) << row.info.name;
    EXPECT_GT(field->number(), last) << row.info.name;
    last = field->number();
  }
}

TEST(CounterTable, EachRowHasAFieldInTheOrderOfTheNumbers) {
  ExpectOrderOfNumbers(runtime::kCounterRows);
  ExpectOrderOfNumbers(kDaemonCounterRows);
}

TEST(CounterTable, EachFieldHasOneRow) {
  std::map<std::string, int> rows;
  for (const CounterInfo& info : AllCounters()) ++rows[info.name];
  const google::protobuf::Descriptor& message = *v1::Counters::descriptor();
  for (int i = 0; i < message.field_count(); ++i) {
    EXPECT_EQ(rows[message.field(i)->name()], 1)
        << message.field(i)->name()
        << " needs one row, in runtime/counters/counter_table.h or in "
           "daemon/counters/counter_table.h";
  }
}

TEST(CounterTable, TotalsAloneAreNamedSo) {
  for (const CounterInfo& info : AllCounters()) {
    EXPECT_EQ(std::string(info.name).ends_with("_total"),
              info.kind == CounterKind::kTotal)
        << info.name;
    EXPECT_STRNE(info.unit, "") << info.name;
  }
}

TEST(CounterTable, TheCommentOfEachFieldIsItsHelp) {
  std::map<std::string, std::string> comments = CommentsOfFields();
  for (const CounterInfo& info : AllCounters()) {
    std::string help = info.help;
    ASSERT_FALSE(help.empty()) << info.name;
    help[0] = absl::ascii_tolower(help[0]);
    EXPECT_EQ(comments[info.name], absl::StrCat("Unit: ", help)) << info.name;
  }
}

TEST(CounterTable, TheDocsHaveARowForEachCounterAndNoOther) {
  std::string rows;
  for (const CounterInfo& info : AllCounters()) {
    absl::StrAppend(&rows, "| `", info.name, "` | ",
                    info.kind == CounterKind::kTotal ? "total" : "gauge", " | ",
                    info.unit, " | ", info.help, " |\n");
  }
  EXPECT_NE(
      Read(ACTORD_TEST_COUNTER_DOCS).find("|---|---|---|---|\n" + rows + "\n"),
      std::string::npos)
      << "the table should be:\n"
      << rows;
}

}  // namespace
}  // namespace actord::daemon
