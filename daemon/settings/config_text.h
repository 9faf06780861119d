// How durations, sizes and numbers are written in the configuration.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::daemon {

// "30s", "1m30s", "250ms", "1.5h", and "none" for an infinite one. Not
// negative.
absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text);
std::string FormatDurationText(absl::Duration duration);

// Bytes: "4096", "64KiB", "16MiB", "1GiB" (powers of 1024), "64KB", "16MB",
// "1GB" (powers of 1000).
absl::StatusOr<uint64_t> ParseSizeText(std::string_view text);
std::string FormatSizeText(uint64_t bytes);

absl::StatusOr<uint64_t> ParseCountText(std::string_view text);

// A basic TOML string, quoted and escaped.
std::string QuoteToml(std::string_view text);

// "host:port", "[v6]:port", ":port" is refused; or "unix:path".
struct ListenAddress {
  bool is_unix = false;
  std::string host;  // of TCP, without brackets
  uint16_t port = 0;
  std::string path;  // of Unix

  // Nobody on another machine can reach it.
  [[nodiscard]] bool IsLocal() const;
};
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace actord::daemon
