#include "runtime/process/pid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

TEST(PidText, IsShortAndComesBackAsItWas) {
  const Pid pids[] = {{1, 0x5f3a90c2, 0x2a, 1},
                      {0, 0, 0, 1},
                      {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
                      {0x10, 0x100, 0x1000, 0x10000}};
  EXPECT_EQ(FormatPid(pids[0]), "1.5f3a90c2.2a.1");
  for (const Pid& pid : pids) {
    const std::string text = FormatPid(pid);
    EXPECT_LE(text.size(), kPidTextMaxBytes);
    const auto parsed = ParsePid(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, pid);
    EXPECT_EQ(FromAbi(ToAbi(pid)), pid);
  }
}

TEST(PidText, MalformedTextIsRefused) {
  const std::vector<std::string> bad = {"",
                                        ".",
                                        "...",
                                        "1",
                                        "1.2.3",
                                        "1.2.3.",
                                        "1.2.3.4.",
                                        "1.2.3.4.5",
                                        ".1.2.3.4",
                                        "1..3.4",
                                        "1.2.3.0",
                                        "01.2.3.4",
                                        "1.2.3.04",
                                        "00.1.1.1",
                                        "1.2.3.A",
                                        "1.2.3.g",
                                        "-1.2.3.4",
                                        "+1.2.3.4",
                                        "0x1.2.3.4",
                                        " 1.2.3.4",
                                        "1.2.3.4 ",
                                        "1.2.3.4\n",
                                        "1,2,3,4",
                                        "100000000.2.3.4",
                                        "1.2.3.100000000",
                                        "1.2.3.ffffffff1",
                                        std::string("1.2.3.4\0", 8),
                                        std::string("1.2\0.3.4", 8),
                                        std::string(1000, '1'),
                                        "1.2.3.4" + std::string(100, ' ')};
  for (const std::string& text : bad) {
    const auto parsed = ParsePid(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(parsed.status()), reason::kInvalidPid);
    EXPECT_EQ(FieldOf(parsed.status()), "pid");
    // The error repeats the wrong text only as far as it fits a line.
    EXPECT_LT(parsed.status().message().size(), 250u);
  }
  EXPECT_THAT(std::string(ParsePid("a\x01\xff").status().message()),
              HasSubstr("\"a??\""));
}

TEST(YieldTokenText, ComesBackAsItWas) {
  const YieldToken token{{1, 0xabc, 7, 3}, UINT64_MAX};
  EXPECT_EQ(FormatYieldToken(token), "1.abc.7.3.ffffffffffffffff");
  EXPECT_EQ(*ParseTaskToken(FormatYieldToken(token)), (TaskToken{token, 0}));
  EXPECT_EQ(FormatTaskToken({token, 0}), FormatYieldToken(token));
  const TaskToken third{token, 0x3a};
  EXPECT_EQ(FormatTaskToken(third), "1.abc.7.3.ffffffffffffffff.3a");
  EXPECT_EQ(*ParseTaskToken(FormatTaskToken(third)), third);
  const TaskToken longest{
      {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, UINT64_MAX},
      UINT32_MAX};
  EXPECT_EQ(*ParseTaskToken(FormatTaskToken(longest)), longest);
  EXPECT_LE(FormatTaskToken(longest).size(), 128u);
  for (const char* bad :
       {"", "1.2.3.4", "1.2.3.4.", "1.2.3.4.0", "1.2.3.4.01", "1.2.3.0.1",
        "1.2.3.4.5.0", "1.2.3.4.5.", "1.2.3.4.5.6.7", "1.2.3.4.5.100000000",
        "1.2.3.4.10000000000000000", "1.2.3.4.F"}) {
    const auto parsed = ParseTaskToken(bad);
    EXPECT_EQ(ReasonOf(parsed.status()), reason::kInvalidYieldToken) << bad;
    EXPECT_EQ(FieldOf(parsed.status()), "token");
  }
}

}  // namespace
}  // namespace actord::runtime
