// Parses and formats durations, sizes and numbers of the configuration.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/settings/size_text.h"

namespace actord::daemon {

// "30s", "1m30s", "250ms", "1.5h"; "none" is infinite. Refuses a negative
// duration.
absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text);
std::string FormatDurationText(absl::Duration duration);

using runtime::FormatSizeText;
using runtime::ParseSizeText;

absl::StatusOr<uint64_t> ParseCountText(std::string_view text);

// A share of a whole, from "0" to "1": "0.25".
absl::StatusOr<double> ParseRatioText(std::string_view text);
std::string FormatRatioText(double ratio);

// A basic TOML string, quoted and escaped.
std::string QuoteToml(std::string_view text);

// "host:port", "[v6]:port" or "unix:path"; ":port" is refused.
struct ListenAddress {
  bool is_unix = false;
  // For a TCP address; the host has no brackets.
  std::string host;
  uint16_t port = 0;
  // For a Unix socket.
  std::string path;

  // True if no other machine can reach the address.
  [[nodiscard]] bool IsLocal() const;
};
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// The host of "http://HOST", "https://HOST:PORT/PATH" and the like, without a
// slash at the end; "" for "".
absl::StatusOr<std::string> ParseLinkUrl(std::string_view text);

// The address of a collector of traces: "http://127.0.0.1:4318".
struct CollectorUrl {
  std::string host;  // without brackets
  uint16_t port = 80;
  std::string path;  // of the spans: "/v1/traces"
};
absl::StatusOr<CollectorUrl> ParseCollectorUrl(std::string_view text);

}  // namespace actord::daemon
