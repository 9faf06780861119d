#include "identity/token_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>

#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

using testing::HasSubstr;
using testing::Not;

// The text and the hash come from Python's zlib, base64 and hashlib.
constexpr char kKnown[] =
    "atk_04107zqz_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8_a4488567";
constexpr char kKnownHash[] =
    "sha256:1f3a85ad7035fd6da6770a7c3d6a1b2b43fa02630d39959767b369c87463d316";
constexpr char kZeros[] =
    "atk_00000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA_761f1351";

std::string WhyNoToken(std::string_view text) {
  return std::string(ParseToken(text).status().message());
}

TEST(TokenText, HasTheFormatThatOtherProgramsComputeFromIt) {
  const std::array<uint8_t, kTokenIdBytes> id = {1, 2, 3, 254, 255};
  std::array<uint8_t, kTokenSecretBytes> secret{};
  std::iota(secret.begin(), secret.end(), uint8_t{0});
  EXPECT_EQ(FormatToken(id, secret), kKnown);
  EXPECT_EQ(FormatToken(std::array<uint8_t, kTokenIdBytes>{},
                        std::array<uint8_t, kTokenSecretBytes>{}),
            kZeros);
  EXPECT_EQ(*ParseToken(kKnown), "04107zqz");
  EXPECT_EQ(FormatHash(*HashToken(kKnown)), kKnownHash);
}

TEST(TokenText, EachNewTokenIsAnotherAndIsParsed) {
  std::set<std::string> ids;
  std::set<std::string> secrets;
  for (int i = 0; i < 200; ++i) {
    const auto token = MakeToken();
    ASSERT_TRUE(token.ok()) << token.status();
    ASSERT_EQ(token->text.size(), kTokenLength);
    EXPECT_EQ(*ParseToken(token->text), token->id);
    EXPECT_TRUE(IsTokenId(token->id)) << token->id;
    ids.insert(token->id);
    secrets.insert(token->text.substr(13, 43));
  }
  EXPECT_EQ(ids.size(), 200u);
  EXPECT_EQ(secrets.size(), 200u);
}

TEST(TokenText, EveryChangedCharacterIsNoticed) {
  const std::string token = TokenText(3);
  for (size_t at = 0; at < token.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = token;
      changed[at] = static_cast<char>(byte);
      if (changed == token) continue;
      EXPECT_FALSE(ParseToken(changed).ok()) << at << " " << byte;
    }
  }
}

TEST(TokenText, EveryCutOrLongerTextIsNoToken) {
  const std::string token = TokenText(3);
  for (size_t length = 0; length < token.size(); ++length) {
    EXPECT_FALSE(ParseToken(token.substr(0, length)).ok()) << length;
    EXPECT_FALSE(ParseToken(token.substr(token.size() - length)).ok());
  }
  for (const char more : {'0', 'a', '_', ' ', '\n', '\0'}) {
    EXPECT_FALSE(ParseToken(token + more).ok());
    EXPECT_FALSE(ParseToken(std::string(1, more) + token).ok());
  }
}

TEST(TokenText, ComplaintNamesTheReason) {
  const std::string token = TokenText(3);
  const auto with = [&token](size_t at, char c) {
    std::string changed = token;
    changed[at] = c;
    return changed;
  };
  const struct {
    std::string text;
    const char* complaint;
  } cases[] = {
      {"", "a token begins with atk_"},
      {"Bearer " + token, "a token begins with atk_"},
      {"ATK_" + token.substr(4), "a token begins with atk_"},
      {token.substr(0, 64), "a token has 65 characters, and this has 64"},
      {token + token, "a token has 65 characters, and this has 130"},
      {with(5, 'l'), "the token has an invalid character"},
      {with(5, 'A'), "the token has an invalid character"},
      {with(12, '-'), "the token has an invalid character"},
      {with(20, '+'), "the token has an invalid character"},
      {with(20, '='), "the token has an invalid character"},
      {with(20, '\0'), "the token has an invalid character"},
      {with(20, '\xff'), "the token has an invalid character"},
      {with(56, '-'), "the token has an invalid character"},
      {with(60, 'F'), "the token has an invalid character"},
      {with(20, token[20] == 'Q' ? 'R' : 'Q'),
       "the checksum of the token is wrong: a character is mistyped"},
      {with(60, token[60] == '1' ? '2' : '1'),
       "the checksum of the token is wrong: a character is mistyped"},
  };
  for (const auto& c : cases) EXPECT_EQ(WhyNoToken(c.text), c.complaint);
}

// The checksum fits here, so only the last bits of the secret are wrong.
TEST(TokenText, SecretHasOneTextOnly) {
  EXPECT_TRUE(ParseToken(kZeros).ok());
  EXPECT_EQ(
      WhyNoToken(
          "atk_00000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB_ef1642eb"),
      "the checksum of the token is wrong: a character is mistyped");
}

TEST(TokenText, HostileInputIsRefusedAndNotRepeated) {
  const std::string token = TokenText(3);
  const std::string secret = token.substr(13, 43);
  const std::string inputs[] = {
      std::string(1'000'000, 'a'),
      "atk_" + std::string(10'000'000, '\xff'),
      std::string(65, '\0'),
      "atk_" + std::string(61, '_'),
      "atk_" + std::string(61, '\0'),
      std::string("atk_\0\0\0\0\0\0\0\0_", 13) + secret + "_00000000",
      "atk_%s%n%s%n_" + secret + "_00000000",
      token.substr(0, 64) + "\n",
      token.substr(0, 64) + "\xc0",
      "\xef\xbb\xbf" + token,
      " " + token,
      token + " ",
      secret,
  };
  for (const std::string& input : inputs) {
    const absl::Status status = ParseToken(input).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(status.message().size(), 100u);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(secret)));
  }
}

TEST(TokenHash, IsReadAsItIsWritten) {
  EXPECT_EQ(*ParseHash(kKnownHash), *HashToken(kKnown));
  EXPECT_TRUE(SameHash(*ParseHash(kKnownHash), *HashToken(kKnown)));
  for (size_t i = 0; i < 32; ++i) {
    TokenHash other = *HashToken(kKnown);
    other[i] ^= 1;
    EXPECT_FALSE(SameHash(other, *HashToken(kKnown))) << i;
  }
}

TEST(TokenHash, MalformedIsRefused) {
  const std::string good = kKnownHash;
  for (const std::string& bad :
       {std::string(), std::string("sha256:"), good.substr(7),
        good.substr(0, 70), good + "0", "sha512:" + good.substr(7),
        "SHA256:" + good.substr(7), "sha256:F" + good.substr(8),
        "sha256: " + good.substr(8), "sha256:" + std::string(64, '\xff')}) {
    EXPECT_EQ(ParseHash(bad), std::nullopt) << bad;
  }
}

TEST(RedactTokens, LeavesNothingOfAToken) {
  const std::string token = TokenText(3);
  const std::string secret = token.substr(13, 43);
  const std::string mistyped =
      token.substr(0, 6) + token.substr(7);  // one character too few
  for (const std::string& text :
       {token, "x" + token, token + "x", "a " + token + " b " + token, mistyped,
        token.substr(0, 40), "atk_" + token, "\"" + token + "\"",
        "atk_" + secret, "\xff" + token + "\xff"}) {
    const std::string redacted = RedactTokens(text);
    EXPECT_THAT(redacted, HasSubstr("atk_[redacted]"));
    EXPECT_THAT(redacted, Not(HasSubstr(secret.substr(0, 8)))) << redacted;
  }
  EXPECT_EQ(RedactTokens("a " + token + " b " + token + "."),
            "a atk_[redacted] b atk_[redacted].");
}

TEST(RedactTokens, KeepsOtherText) {
  for (const char* text :
       {"", "atk_", "a", "no token 04107zqz", "/etc/atk_tokens.toml",
        "atk_atk_", "atk_04107zqz", "atk_0123456789012345678"}) {
    EXPECT_EQ(RedactTokens(text), text);
  }
}

}  // namespace
}  // namespace actord::identity
