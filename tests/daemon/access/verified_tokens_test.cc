#include "daemon/access/verified_tokens.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/access/client_quotas.h"
#include "runtime/system/clock.h"
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
  EXPECT_EQ(verified.Find(text, 7).token, nullptr);
  verified.Keep(text, 7, token);
  EXPECT_EQ(verified.Find(text, 7).token, token);
  EXPECT_EQ(verified.Find(text, 8).token, nullptr);
  EXPECT_EQ(verified.Find(text, 6).token, nullptr);
}

TEST(VerifiedTokens, KeepsTheHolderOfTheSameTokenAlone) {
  VerifiedTokens verified;
  const std::string text = TokenText(1);
  const VerifiedTokens::Token token = Shared(1);
  const runtime::Owner owner{7};
  QuotaTotals totals(runtime::Clock::System());
  ClientQuota quota(totals);
  verified.KeepHolder(text, token, {owner, &quota});
  EXPECT_EQ(verified.Find(text, 1).holder.quota, nullptr);
  verified.Keep(text, 1, token);
  EXPECT_EQ(verified.Find(text, 1).holder.quota, nullptr);
  verified.KeepHolder(text, token, {owner, &quota});
  EXPECT_EQ(verified.Find(text, 1).holder.owner, owner);
  EXPECT_EQ(verified.Find(text, 1).holder.quota, &quota);
  EXPECT_EQ(verified.Find(text, 2).holder.quota, nullptr);
  // The next table may have another name for the same text.
  verified.Keep(text, 2, Shared(1));
  verified.KeepHolder(text, token, {owner, &quota});
  EXPECT_EQ(verified.Find(text, 2).holder.quota, nullptr);
}

TEST(VerifiedTokens, EachOtherTextIsUnknown) {
  VerifiedTokens verified;
  const std::string text = TokenText(1);
  verified.Keep(text, 1, Shared(1));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_EQ(verified.Find(other, 1).token, nullptr) << i;
    EXPECT_EQ(verified.Find(text.substr(0, i), 1).token, nullptr) << i;
  }
  // The text is filled up with zeros before it is hashed.
  EXPECT_EQ(verified.Find(text + '\0', 1).token, nullptr);
  EXPECT_EQ(verified.Find("", 1).token, nullptr);
}

TEST(VerifiedTokens, KeepsNoTextThatIsTooLong) {
  VerifiedTokens verified;
  const std::string text(1 << 20, 'x');
  verified.Keep(text, 1, Shared(1));
  EXPECT_EQ(verified.Find(text, 1).token, nullptr);
}

// As many clients as there are slots, and more, displace each other at most.
TEST(VerifiedTokens, ReturnsTheTokenOfTheTextAlsoIfTextsShareASlot) {
  VerifiedTokens verified;
  for (uint8_t number = 1; number != 0; ++number) {
    verified.Keep(TokenText(number), 1, Shared(number));
  }
  int kept = 0;
  for (uint8_t number = 1; number != 0; ++number) {
    const VerifiedTokens::Token token =
        verified.Find(TokenText(number), 1).token;
    if (token == nullptr) continue;
    ++kept;
    EXPECT_EQ(token->hash, ClientToken(number).hash);
  }
  EXPECT_GT(kept, 100);
}

}  // namespace
}  // namespace actord::daemon
