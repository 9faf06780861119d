#include "client/output/text.h"

#include <actord/text.h>
#include <gtest/gtest.h>

#include "client/output/exit_status.h"

namespace actord::client {
namespace {

TEST(ParseDuration, TakesNumbersWithUnits) {
  EXPECT_EQ(*ParseDuration("30s"), absl::Seconds(30));
  EXPECT_EQ(*ParseDuration("500ms"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseDuration("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("1.5s"), absl::Milliseconds(1500));
  EXPECT_EQ(*ParseDuration("0"), absl::ZeroDuration());
}

TEST(ParseDuration, RefusesOtherTextsAsUsageErrors) {
  for (const char* text :
       {"", "5", "s", "-1s", "1x", "10 s", "inf", "1e99h", "abc"}) {
    const auto duration = ParseDuration(text);
    ASSERT_FALSE(duration.ok()) << text;
    EXPECT_EQ(ExitStatusOf(duration.status()), ExitStatus::kUsage);
  }
}

TEST(ShortDuration, HasAtMostTwoUnits) {
  EXPECT_EQ(ShortDuration(absl::ZeroDuration()), "0ms");
  EXPECT_EQ(ShortDuration(absl::Milliseconds(850)), "850ms");
  EXPECT_EQ(ShortDuration(absl::Seconds(42)), "42s");
  EXPECT_EQ(ShortDuration(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(ShortDuration(absl::Minutes(60)), "1h");
  EXPECT_EQ(ShortDuration(absl::Hours(5) + absl::Seconds(7)), "5h");
  EXPECT_EQ(ShortDuration(absl::Hours(24 * 12 + 3) + absl::Minutes(5)),
            "12d3h");
}

TEST(Rfc3339, IsUtcWithoutTrailingZeros) {
  EXPECT_EQ(Rfc3339(absl::FromUnixMillis(1767225600250)),
            "2026-01-01T00:00:00.25Z");
  EXPECT_EQ(Rfc3339(absl::FromUnixSeconds(0)), "1970-01-01T00:00:00Z");
}

TEST(WithThousands, GroupsDigits) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1000), "1,000");
  EXPECT_EQ(WithThousands(1234567), "1,234,567");
}

TEST(ShortBytes, PicksTheUnit) {
  EXPECT_EQ(ShortBytes(999), "999 B");
  EXPECT_EQ(ShortBytes(1000), "1.0 KiB");
  EXPECT_EQ(ShortBytes(1024), "1.0 KiB");
  EXPECT_EQ(ShortBytes(3 << 20), "3.0 MiB");
  EXPECT_EQ(ShortBytes(UINT64_MAX), "16.0 EiB");
}

TEST(ShortBytes, HasAtMostThreeDigits) {
  EXPECT_EQ(ShortBytes(102'348), "99.9 KiB");
  EXPECT_EQ(ShortBytes(102'400), "100 KiB");
  EXPECT_EQ(ShortBytes(1'023'487), "999 KiB");
  EXPECT_EQ(ShortBytes(1'023'488), "1.0 MiB");
  EXPECT_EQ(ShortBytes(1'073'531'000), "1.0 GiB");
}

TEST(OneLine, ReplacesCharactersThatMoveTheCursor) {
  EXPECT_EQ(OneLine("a\nb\tc"), "a b c");
  EXPECT_EQ(OneLine("\x1b[31mred\x07"), "?[31mred?");
  EXPECT_EQ(OneLine("bad \xff byte"), "bad ? byte");
  EXPECT_EQ(OneLine("\u0085next"), "?next");  // a C1 control of two bytes
  EXPECT_EQ(OneLine("gr\u00fc\u00df"), "gr\u00fc\u00df");
}

// The character encoded as UTF-8.
std::string Encoded(char32_t code_point) {
  const auto byte = [code_point](unsigned shift, unsigned mark) {
    const unsigned mask = mark == 0x80U ? 0x3FU : 0xFFU;
    return static_cast<char>(((code_point >> shift) & mask) | mark);
  };
  if (code_point < 0x80U) return {byte(0, 0)};
  if (code_point < 0x800U) return {byte(6, 0xC0U), byte(0, 0x80U)};
  return {byte(12, 0xE0U), byte(6, 0x80U), byte(0, 0x80U)};
}

constexpr char32_t kTerminalControls[] = {
    0x00,   0x07,   0x1B,   0x1F,   0x7F,   0x80,   0x85,   0x9B,   0x9F,
    0x61C,  0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D,
    0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0xFEFF, 0xFFFE, 0xFFFF};

constexpr char32_t kPlainCharacters[] = {0x20,   0x7E,   0xA0,   0x61B,  0x61D,
                                         0x200D, 0x2010, 0x2027, 0x202F, 0x2065,
                                         0x206A, 0xFEFE, 0xFF00, 0xFFFD};

TEST(OneLine, ReplacesMarksOfDirectionAndLineEnds) {
  for (const char32_t code_point : kTerminalControls) {
    const std::string character = Encoded(code_point);
    ASSERT_EQ(Utf8CodePoint(character), code_point);
    EXPECT_TRUE(IsTerminalControl(code_point)) << std::hex << +code_point;
    EXPECT_EQ(OneLine("a" + character + "b"), "a?b") << std::hex << +code_point;
    EXPECT_EQ(SeveralLines("a" + character), "a?") << std::hex << +code_point;
  }
  for (const char32_t code_point : kPlainCharacters) {
    const std::string character = Encoded(code_point);
    ASSERT_EQ(Utf8CodePoint(character), code_point);
    EXPECT_FALSE(IsTerminalControl(code_point)) << std::hex << +code_point;
    EXPECT_EQ(OneLine(character), character) << std::hex << +code_point;
    EXPECT_EQ(SeveralLines(character), character) << std::hex << +code_point;
  }
  EXPECT_EQ(Utf8CodePoint("\U0001F600"), U'\U0001F600');
  EXPECT_EQ(OneLine("\U0001F600"), "\U0001F600");
}

TEST(SeveralLines, KeepsLineEndsAndTabs) {
  EXPECT_EQ(SeveralLines("a\tb\nc\r\nd\n"), "a\tb\nc\nd\n");
  EXPECT_EQ(SeveralLines("over\rwritten\r"), "over?written?");
  EXPECT_EQ(SeveralLines("\x1b[2J\xff"), "?[2J?");
  EXPECT_EQ(SeveralLines(""), "");
}

TEST(OneLine, CutsByCharactersNotBytes) {
  EXPECT_EQ(OneLine("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(OneLine("abcdefghi", 8), "abcde...");
  EXPECT_EQ(OneLine("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 5),
            "\u00e4\u00e4...");
  EXPECT_EQ(Width(OneLine("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 5)), 5U);
}

}  // namespace
}  // namespace actord::client
