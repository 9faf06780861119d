// The text of a token, its hash, and messages without tokens.
//
//   atk_<id, 8 characters>_<secret, 43 characters>_<checksum, 8 characters>
//
// - The ID is 40 random bits in digits and lower-case letters without i, l, o
//   and u. It is not secret: it names the token in files, lists and logs.
// - The secret is 256 random bits in base64url without padding (RFC 4648,
//   section 5). The 2 bits that the last character has too many are 0, so one
//   secret has one text.
// - The checksum is the CRC-32 of zlib and gzip over all characters before the
//   last underscore, in lower-case hexadecimal. Anyone can compute it. It tells
//   a mistyped or cut token from a wrong one, and lets a scanner for secrets
//   find tokens without false alarms.
//
// Thread-safety: pure functions, apart from randomness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace actord::identity {

inline constexpr std::string_view kTokenPrefix = "atk_";
inline constexpr size_t kTokenIdLength = 8;
inline constexpr size_t kTokenIdBytes = 5;
inline constexpr size_t kTokenSecretBytes = 32;
// Length of the whole text.
inline constexpr size_t kTokenLength = 65;

inline constexpr std::string_view kTokenIdRule =
    "8 characters of 0-9 and a-z without i, l, o and u";
bool IsTokenId(std::string_view text);

struct NewToken {
  std::string id;
  // A secret.
  std::string text;
};
// A token from random bytes. Fails only if the system gives none.
absl::StatusOr<NewToken> MakeToken();

// The text of a token of these bytes.
std::string FormatToken(std::span<const uint8_t, kTokenIdBytes> id,
                        std::span<const uint8_t, kTokenSecretBytes> secret);

// The ID in the text of a token, as a part of `text`. INVALID_ARGUMENT names
// the mistake in a text that is not a token, and repeats no part of it. Takes
// any bytes of any length.
absl::StatusOr<std::string_view> ParseToken(std::string_view text);

// SHA-256 of the whole text of a token.
using TokenHash = std::array<uint8_t, 32>;
// Fails only if OpenSSL does, as with a broken configuration of the machine.
absl::StatusOr<TokenHash> HashToken(std::string_view text);
// Takes the same time wherever the two differ.
bool SameHash(const TokenHash& a, const TokenHash& b);

inline constexpr std::string_view kTokenHashRule =
    "sha256: and 64 characters of 0-9 and a-f";
std::string FormatHash(const TokenHash& hash);
std::optional<TokenHash> ParseHash(std::string_view text);

// `text` with "atk_[redacted]" in place of each part that looks like a token:
// the prefix and at least 20 more characters of base64url. So cut and mistyped
// tokens are replaced, too.
std::string RedactTokens(std::string_view text);

}  // namespace actord::identity
