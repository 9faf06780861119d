#include "identity/toml_nesting.h"

#include <gtest/gtest.h>

#include <string>

namespace actord::identity {
namespace {

std::string Complaint(const std::string& text) {
  return std::string(CheckTomlNesting(text, "f.toml").message());
}

std::string Repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

constexpr char kParts[] = "a key has more than 16 parts with dots between them";
constexpr char kLevels[] = "a value is nested more than 16 levels deep";

TEST(TomlNesting, AcceptsUpToTheLimits) {
  EXPECT_EQ(Complaint("[a" + Repeated(".a", 15) + "]\n"), "");
  EXPECT_EQ(Complaint("a = " + Repeated("[", 16) + Repeated("]", 16)), "");
  EXPECT_EQ(Complaint(Repeated("a.b.c = [{ d.e = 1.5 }, 1.5]\n[[x.y]]\n", 50)),
            "");
}

TEST(TomlNesting, RefusesAboveTheLimitsWithTheLine) {
  const std::string dots = Repeated(".a", 16);
  EXPECT_EQ(Complaint("\n[a" + dots + "]\n"),
            std::string("f.toml:2: ") + kParts);
  EXPECT_EQ(Complaint("\n\n[[a" + dots + "]]"),
            std::string("f.toml:3: ") + kParts);
  EXPECT_EQ(Complaint("a" + dots + " = 1"), std::string("f.toml:1: ") + kParts);
  EXPECT_EQ(Complaint("x = {a" + dots + " = 1}"),
            std::string("f.toml:1: ") + kParts);
  EXPECT_EQ(Complaint("a = " + Repeated("[\n", 17)),
            std::string("f.toml:17: ") + kLevels);
  EXPECT_EQ(Complaint("a = " + Repeated("{b=", 17)),
            std::string("f.toml:1: ") + kLevels);
}

TEST(TomlNesting, QuotedPartsCount) {
  for (const char* part : {".\"=\"", ".'='", ".\"\\\"=\"", " . \",\"", ".''"}) {
    EXPECT_EQ(Complaint("[a" + Repeated(part, 16) + "]"),
              std::string("f.toml:1: ") + kParts)
        << part;
  }
}

TEST(TomlNesting, TextAndCommentsDoNotCount) {
  const std::string dots = Repeated(".[", 100);
  for (const std::string& text :
       {"a = \"" + dots + "\"\n", "a = '" + dots + "'\n", "# " + dots + "\n",
        "a = \"\"\"\n\"" + dots + "\\\"\"\"\"\"\"\n",
        "a = '''" + dots + "'''\n", "a = '\\'\nb = '" + dots + "'\n",
        "a = \"\\\\\"\nb = '" + dots + "'\n",
        "a = ''''" + dots + "'''''\nb = 1\n"}) {
    EXPECT_EQ(Complaint(text), "") << text;
    // The text has ended where TOML says that it ends.
    EXPECT_EQ(Complaint(text + "[b" + Repeated(".b", 16) + "]").substr(8),
              std::string(": ") + kParts)
        << text;
  }
}

}  // namespace
}  // namespace actord::identity
