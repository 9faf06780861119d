#include "client/plugin_check/daemon_limits.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "identity/toml_nesting.h"
#include "runtime/process/payload.h"
#include "runtime/settings/limits.h"
#include "runtime/settings/size_text.h"

namespace actord::client {
namespace {

// As the daemon: a longer file is no configuration.
constexpr size_t kMaxFileBytes = size_t{1} << 20;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    const std::string text =
        absl::StrCat(path, ": ", std::generic_category().message(error));
    return error == ENOENT ? absl::NotFoundError(text)
                           : absl::InvalidArgumentError(text);
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return absl::InvalidArgumentError(path + ": the file cannot be read");
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        path + ": the file is larger than 1 MiB, so it is no configuration");
  }
  return text;
}

// The size at `section`.`key`; nullopt: the file does not set it. 0 is refused.
absl::StatusOr<std::optional<uint64_t>> ReadSize(const std::string& path,
                                                 const toml::table& config,
                                                 std::string_view section,
                                                 std::string_view key,
                                                 uint64_t max_bytes) {
  const auto node = config[section][key];
  if (!node) return std::nullopt;
  const auto place = [&] {
    return absl::StrCat(path, ":", node.node()->source().begin.line, ": ",
                        std::string(section), ".", std::string(key), ": ");
  };
  std::string text;
  if (const auto* const number = node.as_integer()) {
    text = absl::StrCat(number->get());
  } else if (const auto* const string = node.as_string()) {
    text = string->get();
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(place(), "must be a string or a whole number"));
  }
  const absl::StatusOr<uint64_t> size = runtime::ParseSizeText(text);
  if (!size.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(place(), size.status().message()));
  }
  if (*size == 0 || *size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(place(), text, " is not between 1 and ",
                     runtime::FormatSizeText(max_bytes)));
  }
  return *size;
}

absl::StatusOr<DaemonLimits> LimitsOf(const std::string& path,
                                      const toml::table& config) {
  constexpr uint64_t kAny = std::numeric_limits<uint32_t>::max();
  const auto payload = ReadSize(path, config, "limits", "max_payload_bytes",
                                runtime::kPayloadLimitMaxBytes);
  if (!payload.ok()) return payload.status();
  const auto segment = ReadSize(path, config, "store", "segment_bytes", kAny);
  if (!segment.ok()) return segment.status();
  const auto record = ReadSize(path, config, "store", "max_record_bytes", kAny);
  if (!record.ok()) return record.status();
  DaemonLimits limits;
  if (*payload) limits.max_payload_bytes = **payload;
  if (*record) {
    limits.max_record_bytes = **record;
  } else if (*segment) {
    // As the daemon does without store.max_record_bytes.
    limits.max_record_bytes =
        std::min<uint64_t>(limits.max_record_bytes, **segment / 4);
  }
  return limits;
}

}  // namespace

absl::StatusOr<DaemonLimits> ReadDaemonLimits(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::Status nesting = identity::CheckTomlNesting(*text, path);
  if (!nesting.ok()) return nesting;
  try {
    return LimitsOf(path, toml::parse(*text, path));
    // Debian's library throws.
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.source().begin.line, ": ",
                     std::string(error.description())));
  }
}

}  // namespace actord::client
