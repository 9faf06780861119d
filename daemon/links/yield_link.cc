#include "daemon/links/yield_link.h"

#include <actord/text.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

constexpr char kVersion = 1;
// A signature includes this purpose, so that a later use of the key cannot be
// confused with a link.
constexpr std::string_view kPurpose = "actord link to a yield\n";
constexpr size_t kMacBytes = SHA256_DIGEST_LENGTH;
// The longest base64 text that is read.
constexpr size_t kMaxBytes = 4096;

using Mac = std::array<uint8_t, kMacBytes>;

Mac MacOf(const LinkKey& key, std::string_view content) {
  const std::string signed_text =
      absl::StrCat(std::string(kPurpose), std::string(content));
  Mac mac;
  unsigned size = 0;
  const uint8_t* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const uint8_t*>(signed_text.data()),
           signed_text.size(), mac.data(), &size);
  ACTORD_ASSERT(made != nullptr && size == kMacBytes,
                "yield_link.h: OpenSSL has HMAC-SHA-256");
  return mac;
}

bool IsWithinLimits(const YieldLink& link) {
  return link.text.size() <= kMaxLinkTextBytes &&
         link.values.size() <= kMaxLinkValues &&
         std::ranges::all_of(link.values, [](const std::string& value) {
           return value.size() <= kMaxLinkValueBytes;
         });
}

void PutNumber(std::string& out, uint64_t value, int bytes) {
  constexpr int kBits = 8;
  for (int i = bytes - 1; i >= 0; --i) {
    out += static_cast<char>(value >> (i * kBits) & 0xff);
  }
}

void PutText(std::string& out, std::string_view text) {
  PutNumber(out, text.size(), 2);
  out += text;
}

// Reads the numbers and texts that the two functions above have written. The
// daemon itself has written them. They are checked all the same, because the
// key may have been used elsewhere.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  uint64_t Number(size_t bytes) {
    constexpr int kBits = 8;
    uint64_t value = 0;
    for (const char c : Take(bytes)) {
      value = value << kBits | static_cast<uint8_t>(c);
    }
    return value;
  }
  std::string Text() { return std::string(Take(Number(2))); }
  [[nodiscard]] bool IsDone() const { return is_ok_ && text_.empty(); }

 private:
  std::string_view Take(uint64_t bytes) {
    if (bytes > text_.size()) {
      is_ok_ = false;
      return {};
    }
    const std::string_view taken = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return taken;
  }

  std::string_view text_;
  bool is_ok_ = true;
};

}  // namespace

std::string SignLink(const LinkKey& key, const YieldLink& link) {
  ACTORD_ASSERT(IsWithinLimits(link),
                "yield_link.h: text and values are within the limits");
  std::string content(1, kVersion);
  PutNumber(content, link.expires_unix_s, sizeof(uint64_t));
  PutText(content, runtime::FormatYieldToken(link.yield));
  PutText(content, ToUtf8(link.maker, kMaxLinkMakerBytes));
  PutText(content, link.text);
  PutNumber(content, link.values.size(), 1);
  for (const std::string& value : link.values) PutText(content, value);
  const Mac mac = MacOf(key, content);
  content.append(reinterpret_cast<const char*>(mac.data()), mac.size());
  return absl::WebSafeBase64Escape(content);
}

std::optional<YieldLink> ReadLink(const LinkKey& key, std::string_view text) {
  std::string bytes;
  if (text.size() > kMaxBytes ||
      !absl::WebSafeBase64Unescape({text.data(), text.size()}, &bytes) ||
      bytes.size() <= kMacBytes) {
    return std::nullopt;
  }
  const std::string_view content =
      std::string_view(bytes).substr(0, bytes.size() - kMacBytes);
  const Mac mac = MacOf(key, content);
  if (CRYPTO_memcmp(mac.data(), bytes.data() + content.size(), kMacBytes) !=
      0) {
    return std::nullopt;
  }
  if (content.front() != kVersion) return std::nullopt;
  Reader reader(content.substr(1));
  YieldLink link;
  link.expires_unix_s = reader.Number(sizeof(uint64_t));
  const auto token = runtime::ParseTaskToken(reader.Text());
  link.maker = reader.Text();
  link.text = reader.Text();
  const uint64_t values = reader.Number(1);
  for (uint64_t i = 0; i < values && i < kMaxLinkValues; ++i) {
    link.values.push_back(reader.Text());
  }
  if (!reader.IsDone() || !token.ok()) return std::nullopt;
  link.yield = token->yield;
  return link;
}

std::string StyleSource(std::string_view style) {
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const uint8_t*>(style.data()), style.size(),
         digest.data());
  return absl::StrCat(
      "'sha256-",
      absl::Base64Escape(absl::string_view(
          reinterpret_cast<const char*>(digest.data()), digest.size())),
      "'");
}

}  // namespace actord::daemon
