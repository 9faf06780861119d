#include "daemon/access/verified_tokens.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/identity/tokens.h"

namespace actord::daemon {
namespace {

using identity::ClientToken;
using identity::TokenText;

VerifiedTokens::Token Shared(uint8_t number) {
  return std::make_shared<const identity::StoredToken>(ClientToken(number));
}

TEST(VerifiedTokens, FindsTheTextOfTheSameTableAlone) {
  VerifiedTokens verified;
  const std::string text = TokenText(1);
  const VerifiedTokens::Token token = Shared(1);
  EXPECT_EQ(verified.Find(text, 7), nullptr);
  verified.Keep(text, 7, token);
  EXPECT_EQ(verified.Find(text, 7), token);
  EXPECT_EQ(verified.Find(text, 8), nullptr);
  EXPECT_EQ(verified.Find(text, 6), nullptr);
}

TEST(VerifiedTokens, EachOtherTextIsUnknown) {
  VerifiedTokens verified;
  const std::string text = TokenText(1);
  verified.Keep(text, 1, Shared(1));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_EQ(verified.Find(other, 1), nullptr) << i;
    EXPECT_EQ(verified.Find(text.substr(0, i), 1), nullptr) << i;
  }
  // The text is filled up with zeros before it is hashed.
  EXPECT_EQ(verified.Find(text + '\0', 1), nullptr);
  EXPECT_EQ(verified.Find("", 1), nullptr);
}

TEST(VerifiedTokens, KeepsNoTextThatIsTooLong) {
  VerifiedTokens verified;
  const std::string text(1 << 20, 'x');
  verified.Keep(text, 1, Shared(1));
  EXPECT_EQ(verified.Find(text, 1), nullptr);
}

// As many clients as there are slots, and more, displace each other at most.
TEST(VerifiedTokens, ReturnsTheTokenOfTheTextAlsoIfTextsShareASlot) {
  VerifiedTokens verified;
  for (uint8_t number = 1; number != 0; ++number) {
    verified.Keep(TokenText(number), 1, Shared(number));
  }
  int kept = 0;
  for (uint8_t number = 1; number != 0; ++number) {
    const VerifiedTokens::Token token = verified.Find(TokenText(number), 1);
    if (token == nullptr) continue;
    ++kept;
    EXPECT_EQ(token->hash, ClientToken(number).hash);
  }
  EXPECT_GT(kept, 100);
}

}  // namespace
}  // namespace actord::daemon
