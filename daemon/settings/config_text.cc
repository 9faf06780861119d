#include "daemon/settings/config_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace actord::daemon {
namespace {

absl::Status Malformed(std::string_view text, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "\"%s\" is not %s", std::string(text), std::string(expected)));
}

// Reads the digits at the beginning of `text` and removes them.
bool ConsumeNumber(std::string_view& text, uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return true;
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text) {
  if (text == "none") return absl::InfiniteDuration();
  absl::Duration duration;
  // absl also reads a negative duration, which is refused, and "inf", which is
  // "none" here.
  if (!absl::ParseDuration({text.data(), text.size()}, &duration) ||
      duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) {
    return Malformed(text, "a duration such as 30s, 1m30s, 250ms or none");
  }
  return duration;
}

std::string FormatDurationText(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return "none";
  return absl::FormatDuration(duration);
}

absl::StatusOr<uint64_t> ParseCountText(std::string_view text) {
  std::string_view rest = text;
  uint64_t number = 0;
  if (!ConsumeNumber(rest, number) || !rest.empty()) {
    return Malformed(text, "a whole number");
  }
  return number;
}

absl::StatusOr<double> ParseRatioText(std::string_view text) {
  const char* const end = text.data() + text.size();
  double ratio = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, ratio);
  // A NaN is in no range.
  if (error != std::errc() || rest != end || !(ratio >= 0 && ratio <= 1)) {
    return Malformed(text, "a share from 0 to 1, such as 0.25");
  }
  return ratio;
}

std::string FormatRatioText(double ratio) {
  char text[32];
  const auto [end, error] =
      std::to_chars(std::begin(text), std::end(text), ratio);
  return {std::begin(text), end};
}

std::string QuoteToml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += absl::StrFormat("\\u%04x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

bool ListenAddress::IsLocal() const {
  return is_unix || host == "localhost" || host == "::1" ||
         host.starts_with("127.");
}

absl::StatusOr<std::string> ParseLinkUrl(std::string_view text) {
  if (text.empty()) return "";
  std::string_view rest;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (text.starts_with(scheme)) rest = text.substr(scheme.size());
  }
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return c > ' ' && c <= '~' && std::strchr("\"'<>?#\\@", c) == nullptr;
  });
  const size_t end = rest.starts_with('[')
                         ? std::min(rest.find(']'), rest.size() - 1) + 1
                         : std::min(rest.find_first_of(":/"), rest.size());
  if (!is_plain || end == 0 || rest.ends_with('/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(text),
        "\" is not a URL such as https://approve.example.com, without a slash "
        "at the end"));
  }
  return std::string(rest.substr(0, end));
}

absl::StatusOr<CollectorUrl> ParseCollectorUrl(std::string_view text) {
  constexpr std::string_view kExpected =
      "a URL such as http://127.0.0.1:4318, without a query";
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kSpans = "/v1/traces";
  if (text.starts_with("https://")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(text),
        "\" needs TLS, which the export of traces does not speak; use http:// "
        "to a collector on this machine, which may send the spans on by TLS"));
  }
  if (!text.starts_with(kHttp)) return Malformed(text, kExpected);
  std::string_view rest = text.substr(kHttp.size());
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return c > ' ' && c <= '~' && std::strchr("\"'<>?#\\@", c) == nullptr;
  });
  if (!is_plain) return Malformed(text, kExpected);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with(kSpans)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" ends with /v1/traces, which the daemon adds by "
                     "itself; leave it out"));
  }
  std::string address(rest.substr(0, slash));
  const bool has_port =
      address.rfind(':') != std::string::npos && !address.ends_with(']');
  if (!has_port) absl::StrAppend(&address, ":80");
  const absl::StatusOr<ListenAddress> read = ParseListenAddress(address);
  if (!read.ok() || read->is_unix || read->port == 0) {
    return Malformed(text, kExpected);
  }
  return CollectorUrl{
      .host = read->host,
      .port = read->port,
      .path = absl::StrCat(std::string(path), std::string(kSpans))};
}

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  constexpr std::string_view kExpected =
      "an address such as 127.0.0.1:7600, [::1]:7600 or unix:/run/actord.sock";
  constexpr std::string_view kUnix = "unix:";
  ListenAddress address;
  if (text.starts_with(kUnix)) {
    address.is_unix = true;
    address.path = std::string(text.substr(kUnix.size()));
    if (address.path.empty()) return Malformed(text, kExpected);
    return address;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text, kExpected);
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    // IPv6 without brackets.
    return Malformed(text, kExpected);
  }
  const absl::StatusOr<uint64_t> port = ParseCountText(text.substr(colon + 1));
  if (host.empty() || !port.ok() ||
      *port > std::numeric_limits<uint16_t>::max()) {
    return Malformed(text, kExpected);
  }
  address.host = std::string(host);
  address.port = static_cast<uint16_t>(*port);
  return address;
}

}  // namespace actord::daemon
