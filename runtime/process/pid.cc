#include "runtime/process/pid.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

// Reads one number in lower-case hexadecimal without leading zeros from the
// front of `text`.
template <typename Number>
std::optional<Number> TakeHex(std::string_view& text) {
  if (text.empty() || (text[0] == '0' && text.size() > 1 && text[1] != '.')) {
    return std::nullopt;
  }
  for (char c : text) {
    if (c == '.') break;
    if (c >= 'A' && c <= 'F') return std::nullopt;
  }
  Number number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeDot(std::string_view& text) {
  if (text.empty() || text[0] != '.') return false;
  text.remove_prefix(1);
  return true;
}

// Reads a PID from the front of `text`; the rest of the text stays.
std::optional<Pid> TakePid(std::string_view& text) {
  std::array<uint32_t, 4> part{};
  for (size_t i = 0; i < part.size(); ++i) {
    if (i > 0 && !TakeDot(text)) return std::nullopt;
    const auto number = TakeHex<uint32_t>(text);
    if (!number) return std::nullopt;
    part[i] = *number;
  }
  if (part[3] == 0) return std::nullopt;
  return Pid{part[0], part[1], part[2], part[3]};
}

// A short, printable excerpt of `text`, in quotes.
std::string Quote(std::string_view text) {
  constexpr size_t kShownBytes = 80;
  std::string shown;
  for (char c : text.substr(0, kShownBytes)) {
    shown.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
  return absl::StrCat("\"", shown, text.size() > kShownBytes ? "…\"" : "\"");
}

}  // namespace

std::string FormatPid(const Pid& pid) {
  return absl::StrCat(absl::Hex(pid.node), ".", absl::Hex(pid.incarnation), ".",
                      absl::Hex(pid.slot), ".", absl::Hex(pid.generation));
}

absl::StatusOr<Pid> ParsePid(std::string_view text) {
  std::string_view rest = text;
  if (text.size() <= kPidTextMaxBytes) {
    const auto pid = TakePid(rest);
    if (pid && rest.empty()) return *pid;
  }
  return InvalidField(
      "pid", reason::kInvalidPid,
      absl::StrCat(Quote(text),
                   " is not a PID; one looks like 1.5f3a90c2.2a.1 and comes "
                   "from Submit or ListProcesses"));
}

size_t CopyPidText(const actord_pid& pid, char* text) {
  const std::string formatted = FormatPid(FromAbi(pid));
  std::memcpy(text, formatted.data(), formatted.size());
  return formatted.size();
}

int32_t ReadPidText(actord_bytes text, actord_pid* pid) {
  const auto parsed =
      ParsePid({static_cast<const char*>(text.data), text.size});
  if (!parsed.ok()) return ACTORD_INVALID_ARGUMENT;
  *pid = ToAbi(*parsed);
  return ACTORD_OK;
}

std::string FormatYieldToken(const YieldToken& token) {
  return absl::StrCat(FormatPid(token.pid), ".", absl::Hex(token.tag));
}

std::string FormatTaskToken(const TaskToken& token) {
  std::string text = FormatYieldToken(token.yield);
  if (token.attempt != 0) absl::StrAppend(&text, ".", absl::Hex(token.attempt));
  return text;
}

absl::StatusOr<TaskToken> ParseTaskToken(std::string_view text) {
  constexpr size_t kTokenMaxBytes = kPidTextMaxBytes + 17 + 9;
  std::string_view rest = text;
  if (text.size() <= kTokenMaxBytes) {
    const auto pid = TakePid(rest);
    const auto tag = pid && TakeDot(rest) ? TakeHex<uint64_t>(rest)
                                          : std::optional<uint64_t>();
    if (tag && *tag != 0) {
      if (rest.empty()) return TaskToken{{*pid, *tag}, 0};
      const auto attempt =
          TakeDot(rest) ? TakeHex<uint32_t>(rest) : std::optional<uint32_t>();
      if (attempt && *attempt != 0 && rest.empty()) {
        return TaskToken{{*pid, *tag}, *attempt};
      }
    }
  }
  return InvalidField(
      "token", reason::kInvalidYieldToken,
      absl::StrCat(Quote(text),
                   " is not a yield token; one looks like 1.5f3a90c2.2a.1.7 "
                   "and comes from ListYields or Work"));
}

}  // namespace actord::runtime
