#include <actord/text.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace actord {
namespace {

// Each is one character that is no neighbour of an ill-formed one.
constexpr std::string_view kCharacters[] = {
    "a",      "\x7f",   "\u0080", "\u07ff",     "\u0800",
    "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"};

// None of them begins with a character.
constexpr std::string_view kBroken[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc3",
                                        "\xc3\x28",
                                        "\xe0\x9f\xbf",
                                        "\xe0\x80\xaf",
                                        "\xe2\x82",
                                        "\xed\xa0\x80",
                                        "\xed\xbf\xbf",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf0\x80\x80\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xf0\x9f\x8e",
                                        "\xf8\x88\x80\x80",
                                        "\xff"};

TEST(Utf8, AcceptsExactlyRfc3629) {
  std::string all;
  for (const std::string_view character : kCharacters) {
    EXPECT_EQ(Utf8CharacterLength(character), character.size());
    EXPECT_TRUE(IsUtf8(character));
    all += character;
  }
  EXPECT_TRUE(IsUtf8(all));
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_EQ(Utf8CharacterLength(""), 0u);
  for (const std::string_view broken : kBroken) {
    EXPECT_EQ(Utf8CharacterLength(broken), 0u) << ToUtf8(broken);
    EXPECT_FALSE(IsUtf8(broken)) << ToUtf8(broken);
    EXPECT_FALSE(IsUtf8(all + std::string(broken))) << ToUtf8(broken);
  }
}

TEST(Utf8, EveryCodePointIsReadBack) {
  for (char32_t point = 0; point <= 0x10ffff;
       point += point < 0x3000 ? 1 : 97) {
    if (point >= 0xd800 && point < 0xe000) continue;
    const auto byte = [point](unsigned shift, unsigned mark) {
      const unsigned mask = mark == 0x80u ? 0x3fu : 0xffu;
      return static_cast<char>(((point >> shift) & mask) | mark);
    };
    std::string character;
    if (point < 0x80) {
      character = {byte(0, 0)};
    } else if (point < 0x800) {
      character = {byte(6, 0xc0), byte(0, 0x80)};
    } else if (point < 0x10000) {
      character = {byte(12, 0xe0), byte(6, 0x80), byte(0, 0x80)};
    } else {
      character = {byte(18, 0xf0), byte(12, 0x80), byte(6, 0x80),
                   byte(0, 0x80)};
    }
    ASSERT_EQ(Utf8CharacterLength(character + "\x80"), character.size());
    ASSERT_EQ(Utf8LengthAfter(character[0]), character.size());
    ASSERT_EQ(Utf8CodePoint(character), point);
  }
}

TEST(Utf8, BrokenBytesAreReplacedOneByOne) {
  EXPECT_EQ(ToUtf8("a\xc3\xa4\xff\xc3"), "a\u00e4\ufffd\ufffd");
  EXPECT_EQ(ToUtf8("a\xc3\xa4\xff\xc3", 100, "?"), "a\u00e4??");
  EXPECT_EQ(ToUtf8("\xe2\x82z", 100, ""), "z");
  EXPECT_EQ(ToUtf8("", 0), "");
}

TEST(Utf8, AReplacedTextIsCutBetweenCharacters) {
  EXPECT_EQ(ToUtf8("a\u00e4", 2), "a");
  EXPECT_EQ(ToUtf8("a\u00e4", 3), "a\u00e4");
  EXPECT_EQ(ToUtf8("ab\xff", 4), "ab") << "the replacement has three bytes";
  EXPECT_EQ(ToUtf8("ab\xff", 5), "ab\ufffd");
  EXPECT_EQ(ToUtf8("ab\xff", 3, "?"), "ab?");
}

TEST(Utf8, ACutSplitsNoCharacter) {
  for (const std::string_view character : kCharacters) {
    std::string text;
    while (text.size() < 20) text += character;
    for (size_t max = 0; max <= text.size(); ++max) {
      const size_t whole = max / character.size() * character.size();
      EXPECT_EQ(CutUtf8(text, max).size(), whole) << max;
      EXPECT_EQ(CutUtf8(text, max, NoCharacter::kDropBytes).size(), whole);
    }
    EXPECT_EQ(CutUtf8(text, std::string::npos), text);
  }
}

TEST(Utf8, ACutOfBytesThatAreNoTextDropsThreeAtMost) {
  const std::string bytes(100, '\x80');
  EXPECT_EQ(CutUtf8(bytes, 17).size(), 17u);
  EXPECT_EQ(CutUtf8(bytes, 17, NoCharacter::kDropBytes).size(), 14u);
  EXPECT_EQ(CutUtf8(bytes, 2).size(), 2u);
  EXPECT_EQ(CutUtf8(bytes, 2, NoCharacter::kDropBytes).size(), 0u);
}

// In `marks` are the bytes, other than letters and digits, that a name may
// hold.
void ExpectNamesOf(bool (*is_name)(std::string_view), std::string_view marks) {
  EXPECT_FALSE(is_name(""));
  EXPECT_TRUE(is_name(std::string(kMaxNameBytes, 'x')));
  EXPECT_FALSE(is_name(std::string(kMaxNameBytes + 1, 'x')));
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool is_allowed = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                            (c >= 'a' && c <= 'z') ||
                            marks.find(c) != std::string_view::npos;
    EXPECT_EQ(is_name(std::string("a") + c), is_allowed) << byte;
    EXPECT_EQ(is_name(std::string(1, c)), is_allowed) << byte;
  }
}

TEST(Names, HaveTheBytesOfTheirRule) {
  ExpectNamesOf(IsDeclaredName, "_.-");
  ExpectNamesOf(IsName, "_.-/:");
}

TEST(Names, TheirRulesSayTheLongestLength) {
  for (const std::string_view rule : {kDeclaredNameRule, kNameRule}) {
    EXPECT_NE(rule.find(" " + std::to_string(kMaxNameBytes) + " "),
              std::string_view::npos)
        << rule;
  }
}

TEST(Pattern, IsANameOrAPrefix) {
  struct Case {
    const char* pattern;
    const char* name;
    bool matches;
  };
  const Case cases[] = {
      {"a", "a", true},  {"a", "ab", false},  {"a*", "ab", true},
      {"a*", "a", true}, {"a*", "b", false},  {"*", "anything", true},
      {"*", "", true},   {"a.*", "a", false}, {"a.*", "a.b", true},
      {"", "", true},    {"", "a", false}};
  for (const Case& c : cases) {
    EXPECT_EQ(MatchesPattern(c.pattern, c.name), c.matches)
        << c.pattern << " " << c.name;
  }
}

TEST(Pattern, HasAStarAtItsEndOnly) {
  for (const char* good : {"a", "a.b", "a*", "*"}) {
    EXPECT_TRUE(IsPattern(good)) << good;
  }
  for (const char* bad : {"", "a*b", "**", "*a"}) {
    EXPECT_FALSE(IsPattern(bad)) << bad;
  }
}

}  // namespace
}  // namespace actord
