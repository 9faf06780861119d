#include "runtime/system/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace actord::runtime {
namespace {

TEST(Utf8Prefix, KeepsTextThatFits) {
  EXPECT_EQ(Utf8Prefix("", 0), "");
  EXPECT_EQ(Utf8Prefix("abc", 3), "abc");
  EXPECT_EQ(Utf8Prefix("abc", 4), "abc");
}

TEST(Utf8Prefix, CutsBeforeTheCharacterThatDoesNotFit) {
  EXPECT_EQ(Utf8Prefix("abc", 2), "ab");
  EXPECT_EQ(Utf8Prefix("a\u00e9b", 2), "a");     // 2 bytes
  EXPECT_EQ(Utf8Prefix("a\u20acb", 3), "a");     // 3 bytes
  EXPECT_EQ(Utf8Prefix("a\U0001F600", 4), "a");  // 4 bytes
  EXPECT_EQ(Utf8Prefix("\u00e9", 1), "");
  EXPECT_EQ(Utf8Prefix("\u00e9", 0), "");
}

TEST(Utf8Prefix, CutsBytesThatAreNotUtf8AtTheLimit) {
  const std::string bytes(10, '\x80');
  EXPECT_EQ(Utf8Prefix(bytes, 6), bytes.substr(0, 6));
}

TEST(Utf8Prefix, ReadsNothingBeforeTheText) {
  EXPECT_EQ(Utf8Prefix("\x80\x80\x80", 1), "\x80");
  EXPECT_EQ(Utf8Prefix("\x80\x80\x80", 2), "\x80\x80");
}

}  // namespace
}  // namespace actord::runtime
