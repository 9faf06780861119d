#include <actord/excerpt.h>
#include <gtest/gtest.h>

#include <string>

namespace actord {
namespace {

TEST(Excerpt, AShortTextIsWhole) {
  EXPECT_EQ(Excerpt(""), "");
  EXPECT_EQ(Excerpt("abc"), "abc");
  EXPECT_EQ(Excerpt(std::string(48, 'x')), std::string(48, 'x'));
  EXPECT_EQ(Excerpt("abc", 3), "abc");
}

TEST(Excerpt, ALongTextIsItsBeginning) {
  EXPECT_EQ(Excerpt(std::string(49, 'x')), std::string(45, 'x') + "...");
  EXPECT_EQ(Excerpt(std::string(1 << 20, 'x')).size(), 48u);
  EXPECT_EQ(Excerpt("abcd", 3), "...");
  EXPECT_EQ(Excerpt("abcdef", 5), "ab...");
}

TEST(Excerpt, NoCharacterIsCut) {
  // Characters of one to four bytes.
  for (const std::string c : {"x", "\u00e4", "\u20ac", "\U0001f600"}) {
    std::string text;
    while (text.size() < 100) text += c;
    for (size_t max = 3; max < 60; ++max) {
      const size_t whole = (max - 3) / c.size() * c.size();
      EXPECT_EQ(Excerpt(text, max), text.substr(0, whole) + "...") << max;
    }
  }
}

TEST(Excerpt, InvalidUtf8IsCutToo) {
  const std::string text(100, '\x80');
  const std::string cut = Excerpt(text, 20);
  EXPECT_EQ(cut, std::string(14, '\x80') + "...");
}

}  // namespace
}  // namespace actord
