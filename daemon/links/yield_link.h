// The text of a link to a yield: the yield, its values and a signature.
//
//   base64url(version | expiry | yield | maker | text | values | HMAC-SHA-256)
//
// The daemon keeps nothing about a link. A holder of the text can read it.
// Nobody without the key can change it or make another one.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/links/link_key.h"
#include "runtime/process/pid.h"

namespace actord::daemon {

struct YieldLink {
  runtime::YieldToken yield;
  uint64_t expires_unix_s = 0;
  std::string maker;  // for the log
  std::string text;
  std::vector<std::string> values;
};

inline constexpr size_t kMaxLinkTextBytes = 500;
inline constexpr size_t kMaxLinkValues = 8;
inline constexpr size_t kMaxLinkValueBytes = 100;
// A longer maker is cut.
inline constexpr size_t kMaxLinkMakerBytes = 200;

// Precondition: the text and the values of the link are within these limits.
std::string SignLink(const LinkKey& key, const YieldLink& link);
// nullopt: the daemon has not signed this text with this key.
std::optional<YieldLink> ReadLink(const LinkKey& key, std::string_view text);

// The source of a Content-Security-Policy that permits exactly this inline
// style: 'sha256-…'.
std::string StyleSource(std::string_view style);

}  // namespace actord::daemon
