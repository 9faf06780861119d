#include <actord/pid_text.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace actord {
namespace {

TEST(PidText, HasOneFormForEachPid) {
  const Pid pid(actord_pid{1, 0x5f3a90c2, 0x2a, UINT32_MAX});
  EXPECT_EQ(FormatPid(pid), "1.5f3a90c2.2a.ffffffff");
  EXPECT_EQ(ParsePid("1.5f3a90c2.2a.ffffffff"), pid);
  const Pid longest(actord_pid{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX});
  EXPECT_EQ(FormatPid(longest).size(), detail::kPidTextMaxBytes);
  EXPECT_EQ(ParsePid(FormatPid(longest)), longest);
  EXPECT_TRUE(ParsePid("0.0.0.1").has_value());
  EXPECT_FALSE(ParsePid(FormatPid(Pid())).has_value());
  for (const std::string_view none :
       {"", "1.2.3", "1.2.3.0", "01.2.3.4", "1.2.3.A", "1.2.3.4.", "1.2.3.4.5",
        " 1.2.3.4", "1.2.3.+4", "1..3.4", "1.2.3.100000000"}) {
    EXPECT_FALSE(ParsePid(none).has_value()) << none;
  }
}

}  // namespace
}  // namespace actord
