// Codecs for the values of the configuration: a codec parses one text into a
// value, or says what is wrong with the text, and prints the value as TOML.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "daemon/settings/config_text.h"
#include "daemon/settings/type_limit_text.h"
#include "daemon/settings/work_policy_text.h"

namespace actord::daemon {

template <typename T>
struct NumberCodec {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<T>::max();

  absl::Status Parse(const std::string& text, T& value) const {
    const absl::StatusOr<uint64_t> number = ParseCountText(text);
    if (!number.ok()) return number.status();
    if (*number < min || *number > max) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " is not between ", min, " and ", max));
    }
    value = static_cast<T>(*number);
    return absl::OkStatus();
  }
  std::string Print(T value) const { return absl::StrCat(value); }
};

struct SizeCodec {
  absl::Status Parse(const std::string& text, size_t& value) const {
    const absl::StatusOr<uint64_t> size = ParseSizeText(text);
    if (!size.ok()) return size.status();
    value = *size;
    return absl::OkStatus();
  }
  std::string Print(size_t value) const {
    return QuoteToml(FormatSizeText(value));
  }
};

struct BoundedSizeCodec : SizeCodec {
  size_t min = 0;
  size_t max = 0;

  absl::Status Parse(const std::string& text, size_t& value) const {
    size_t parsed = 0;
    absl::Status status = SizeCodec::Parse(text, parsed);
    if (!status.ok()) return status;
    if (parsed < min || parsed > max) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " is not between ", FormatSizeText(min), " and ",
                       FormatSizeText(max)));
    }
    value = parsed;
    return absl::OkStatus();
  }
};

// A size within bounds, or 0.
struct SizeOrNoneCodec : BoundedSizeCodec {
  absl::Status Parse(const std::string& text, size_t& value) const {
    size_t parsed = 0;
    absl::Status status = SizeCodec::Parse(text, parsed);
    if (status.ok() && parsed != 0) {
      status = BoundedSizeCodec::Parse(text, parsed);
    }
    if (status.ok()) value = parsed;
    return status;
  }
};

struct DurationCodec {
  absl::Status Parse(const std::string& text, absl::Duration& value) const {
    const absl::StatusOr<absl::Duration> duration = ParseDurationText(text);
    if (!duration.ok()) return duration.status();
    value = *duration;
    return absl::OkStatus();
  }
  std::string Print(absl::Duration value) const {
    return QuoteToml(FormatDurationText(value));
  }
};

struct BoundedDurationCodec : DurationCodec {
  absl::Duration min;
  absl::Duration max;

  absl::Status Parse(const std::string& text, absl::Duration& value) const {
    absl::Duration parsed;
    absl::Status status = DurationCodec::Parse(text, parsed);
    if (!status.ok()) return status;
    if (parsed < min || parsed > max) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " is not between ", FormatDurationText(min),
                       " and ", FormatDurationText(max)));
    }
    value = parsed;
    return absl::OkStatus();
  }
};

// A duration within bounds, or "none".
struct BoundedOrNoneCodec : BoundedDurationCodec {
  absl::Status Parse(const std::string& text, absl::Duration& value) const {
    if (text != "none") return BoundedDurationCodec::Parse(text, value);
    value = absl::InfiniteDuration();
    return absl::OkStatus();
  }
};

struct FlagCodec {
  absl::Status Parse(const std::string& text, bool& value) const {
    if (text != "true" && text != "false") {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\" is not one of true, false"));
    }
    value = text == "true";
    return absl::OkStatus();
  }
  std::string Print(bool value) const { return value ? "true" : "false"; }
};

struct TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    value = text;
    return absl::OkStatus();
  }
  std::string Print(const std::string& value) const { return QuoteToml(value); }
};

struct NonEmptyTextCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    if (text.empty()) return absl::InvalidArgumentError("must not be empty");
    value = text;
    return absl::OkStatus();
  }
};

struct PluginCacheCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    if (!text.empty() && text != "memory" && !text.starts_with('/')) {
      return absl::InvalidArgumentError(
          "must be an absolute path, or \"memory\"");
    }
    value = text;
    return absl::OkStatus();
  }
};

// A SHA-256 as sha256sum prints it.
struct DigestCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    constexpr size_t kDigits = 64;
    if (text.size() != kDigits ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      return absl::InvalidArgumentError(
          "must have 64 hexadecimal digits, as sha256sum prints them");
    }
    value = absl::AsciiStrToLower(text);
    return absl::OkStatus();
  }
};

// Codec of a type with its own parse and format functions.
template <typename T, auto Read, auto Write>
struct FormCodec {
  absl::Status Parse(const std::string& text, T& value) const {
    auto read = Read(text);
    if (!read.ok()) return read.status();
    value = *std::move(read);
    return absl::OkStatus();
  }
  std::string Print(const T& value) const { return QuoteToml(Write(value)); }
};
using PolicyCodec =
    FormCodec<runtime::WorkPolicy, ParseWorkPolicyText, FormatWorkPolicyText>;
using TypeLimitCodec =
    FormCodec<runtime::TypeLimit, ParseTypeLimitText, FormatTypeLimitText>;

// Permissions of a file, in octal digits; "" is allowed.
struct ModeCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    const bool is_octal =
        text.size() <= 4 &&
        text.find_first_not_of("01234567") == std::string::npos &&
        (text.size() < 4 || text.front() == '0');
    if (!is_octal) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\" is not a mode in octal digits such as 0660"));
    }
    value = text;
    return absl::OkStatus();
  }
};

// "", or http:// or https://, a host, and perhaps a port and a path, without a
// slash at the end.
struct LinkUrlCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    absl::Status status = ParseLinkUrl(text).status();
    if (status.ok()) value = text;
    return status;
  }
};

// "", or the address of a collector.
struct CollectorUrlCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    absl::Status status = absl::OkStatus();
    if (!text.empty()) status = ParseCollectorUrl(text).status();
    if (status.ok()) value = text;
    return status;
  }
};

// A share of a whole.
struct RatioCodec {
  absl::Status Parse(const std::string& text, double& value) const {
    const absl::StatusOr<double> ratio = ParseRatioText(text);
    if (!ratio.ok()) return ratio.status();
    value = *ratio;
    return absl::OkStatus();
  }
  // As a string, because TOML tells numbers with a point from those without.
  std::string Print(double value) const {
    return QuoteToml(FormatRatioText(value));
  }
};

struct ListenCodec : TextCodec {
  absl::Status Parse(const std::string& text, std::string& value) const {
    const absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
    if (!address.ok()) return address.status();
    value = text;
    return absl::OkStatus();
  }
};

template <typename E>
struct ChoiceCodec {
  std::vector<std::pair<std::string_view, E>> choices;

  absl::Status Parse(const std::string& text, E& value) const {
    std::vector<std::string> names;
    for (const auto& [name, choice] : choices) {
      if (name == text) {
        value = choice;
        return absl::OkStatus();
      }
      if (!name.empty()) names.emplace_back(name);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not one of ", absl::StrJoin(names, ", ")));
  }
  std::string Print(E value) const {
    for (const auto& [name, choice] : choices) {
      if (choice == value) return QuoteToml(name);
    }
    return QuoteToml("");
  }
};

}  // namespace actord::daemon
