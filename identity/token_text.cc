#include "identity/token_text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "identity/random.h"

namespace actord::identity {
namespace {

constexpr std::string_view kIdAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::string_view kSecretAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kHexAlphabet = "0123456789abcdef";

constexpr size_t kSecretLength = 43;
constexpr size_t kChecksumLength = 8;
constexpr size_t kSecretAt = kTokenPrefix.size() + kTokenIdLength + 1;
constexpr size_t kChecksumAt = kSecretAt + kSecretLength + 1;
static_assert(kChecksumAt + kChecksumLength == kTokenLength);
// The last character of a secret holds 4 bits.
constexpr size_t kLastCharacterStep = 4;

// Shorter texts after the prefix are not tokens, and too short to help guess
// one.
constexpr size_t kMinRedacted = 20;
constexpr std::string_view kRedacted = "atk_[redacted]";

constexpr std::string_view kHashPrefix = "sha256:";

bool IsOf(std::string_view text, std::string_view alphabet) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

// Writes the bits of `bytes`, highest first, as characters of `alphabet` with
// `bits` bits each, and fills the last character with zeros.
void AppendBits(std::span<const uint8_t> bytes, unsigned bits,
                std::string_view alphabet, std::string& text) {
  uint32_t held = 0;
  unsigned held_bits = 0;
  const uint32_t mask = (1u << bits) - 1;
  for (const uint8_t byte : bytes) {
    held = (held << 8u | byte) & 0xffffu;
    held_bits += 8;
    while (held_bits >= bits) {
      held_bits -= bits;
      text += alphabet[(held >> held_bits) & mask];
    }
  }
  if (held_bits > 0) text += alphabet[(held << (bits - held_bits)) & mask];
}

// CRC-32 with the reversed polynomial 0xedb88320, as in zlib and gzip: the
// contribution of each byte.
consteval std::array<uint32_t, 256> CrcTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1u) != 0 ? crc >> 1u ^ 0xedb88320u : crc >> 1u;
    }
    table[byte] = crc;
  }
  return table;
}

uint32_t Crc32(std::string_view text) {
  static constexpr std::array<uint32_t, 256> kTable = CrcTable();
  uint32_t crc = 0xffffffffu;
  for (const char c : text) {
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xffu] ^ crc >> 8u;
  }
  return ~crc;
}

std::string ChecksumOf(std::string_view text) {
  const uint32_t crc = Crc32(text);
  const std::array<uint8_t, 4> bytes = {
      static_cast<uint8_t>(crc >> 24u), static_cast<uint8_t>(crc >> 16u),
      static_cast<uint8_t>(crc >> 8u), static_cast<uint8_t>(crc)};
  std::string checksum;
  AppendBits(bytes, 4, kHexAlphabet, checksum);
  return checksum;
}

bool IsTokenCharacter(char c) {
  return kSecretAlphabet.find(c) != std::string_view::npos;
}

}  // namespace

bool IsTokenId(std::string_view text) {
  return text.size() == kTokenIdLength && IsOf(text, kIdAlphabet);
}

absl::StatusOr<NewToken> MakeToken() {
  std::array<uint8_t, kTokenIdBytes> id{};
  std::array<uint8_t, kTokenSecretBytes> secret{};
  absl::Status status = FillRandom(id);
  status.Update(FillRandom(secret));
  if (!status.ok()) return status;
  NewToken token;
  token.text = FormatToken(id, secret);
  token.id = token.text.substr(kTokenPrefix.size(), kTokenIdLength);
  OPENSSL_cleanse(secret.data(), secret.size());
  return token;
}

std::string FormatToken(std::span<const uint8_t, kTokenIdBytes> id,
                        std::span<const uint8_t, kTokenSecretBytes> secret) {
  std::string text;
  // A string that grows would leave parts of the secret in freed memory.
  text.reserve(kTokenLength);
  text += kTokenPrefix;
  AppendBits(id, 5, kIdAlphabet, text);
  text += '_';
  AppendBits(secret, 6, kSecretAlphabet, text);
  const std::string checksum = ChecksumOf(text);
  text += '_';
  text += checksum;
  return text;
}

absl::StatusOr<std::string_view> ParseToken(std::string_view text) {
  if (!text.starts_with(kTokenPrefix)) {
    return absl::InvalidArgumentError("a token begins with atk_");
  }
  if (text.size() != kTokenLength) {
    return absl::InvalidArgumentError(absl::StrCat("a token has ", kTokenLength,
                                                   " characters, and this has ",
                                                   text.size()));
  }
  const std::string_view id = text.substr(kTokenPrefix.size(), kTokenIdLength);
  const std::string_view secret = text.substr(kSecretAt, kSecretLength);
  const std::string_view checksum = text.substr(kChecksumAt);
  if (!IsTokenId(id) || text[kSecretAt - 1] != '_' ||
      !IsOf(secret, kSecretAlphabet) || text[kChecksumAt - 1] != '_' ||
      !IsOf(checksum, kHexAlphabet)) {
    return absl::InvalidArgumentError("the token has an invalid character");
  }
  const bool is_canonical =
      kSecretAlphabet.find(secret.back()) % kLastCharacterStep == 0;
  if (!is_canonical ||
      ChecksumOf(text.substr(0, kChecksumAt - 1)) != checksum) {
    return absl::InvalidArgumentError(
        "the checksum of the token is wrong: a character is mistyped");
  }
  return id;
}

absl::StatusOr<TokenHash> HashToken(std::string_view text) {
  // OpenSSL looks the algorithm up for each call of SHA256, which takes four
  // times as long as the hash of a token.
  static const EVP_MD* const sha256 =
      EVP_MD_fetch(nullptr, "SHA256", /*properties=*/nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  TokenHash hash;
  static_assert(std::tuple_size_v<TokenHash> == SHA256_DIGEST_LENGTH);
  if (sha256 == nullptr || context == nullptr ||
      EVP_DigestInit_ex2(context.get(), sha256, nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), text.data(), text.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) != 1) {
    return absl::InternalError("OpenSSL cannot compute a SHA-256");
  }
  return hash;
}

bool SameHash(const TokenHash& a, const TokenHash& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string FormatHash(const TokenHash& hash) {
  std::string text(kHashPrefix);
  AppendBits(hash, 4, kHexAlphabet, text);
  return text;
}

std::optional<TokenHash> ParseHash(std::string_view text) {
  TokenHash hash;
  if (!text.starts_with(kHashPrefix)) return std::nullopt;
  text.remove_prefix(kHashPrefix.size());
  if (text.size() != 2 * hash.size() || !IsOf(text, kHexAlphabet)) {
    return std::nullopt;
  }
  for (size_t i = 0; i < hash.size(); ++i) {
    hash[i] = static_cast<uint8_t>(kHexAlphabet.find(text[2 * i]) << 4u |
                                   kHexAlphabet.find(text[2 * i + 1]));
  }
  return hash;
}

std::string RedactTokens(std::string_view text) {
  std::string redacted;
  while (!text.empty()) {
    const size_t at = text.find(kTokenPrefix);
    if (at == std::string_view::npos) break;
    const auto begin = text.begin() + static_cast<ptrdiff_t>(at);
    const auto body = begin + static_cast<ptrdiff_t>(kTokenPrefix.size());
    const auto end = std::find_if_not(body, text.end(), IsTokenCharacter);
    redacted += text.substr(0, at);
    if (static_cast<size_t>(end - body) >= kMinRedacted) {
      redacted += kRedacted;
    } else {
      redacted.append(begin, end);
    }
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
  }
  redacted += text;
  return redacted;
}

}  // namespace actord::identity
