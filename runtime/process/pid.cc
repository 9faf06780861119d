#include "runtime/process/pid.h"

#include <actord/pid_text.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::runtime {

static_assert(kPidTextMaxBytes == actord::detail::kPidTextMaxBytes);

namespace {

// Takes a PID from the front of `text`; the rest of the text stays.
std::optional<Pid> TakePid(std::string_view& text) {
  const std::optional<actord_pid> pid = actord::detail::TakePid(text);
  return pid ? std::optional(FromAbi(*pid)) : std::nullopt;
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
  char text[kPidTextMaxBytes];
  return {text, actord::detail::WritePid(ToAbi(pid), text)};
}

absl::StatusOr<Pid> ParsePid(std::string_view text) {
  if (const auto pid = actord::detail::ReadPid(text)) return FromAbi(*pid);
  return InvalidField(
      "pid", reason::kInvalidPid,
      absl::StrCat(Quote(text),
                   " is not a PID; one looks like 1.5f3a90c2.2a.1, and a name "
                   "begins with @"));
}

size_t CopyPidText(const actord_pid& pid, char* text) {
  return actord::detail::WritePid(pid, text);
}

int32_t ReadPidText(actord_bytes text, actord_pid* pid) {
  const auto parsed =
      actord::detail::ReadPid({static_cast<const char*>(text.data), text.size});
  if (!parsed) return ACTORD_INVALID_ARGUMENT;
  *pid = *parsed;
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
    const auto tag = pid && actord::detail::TakeDot(rest)
                         ? actord::detail::TakeHex<uint64_t>(rest)
                         : std::optional<uint64_t>();
    if (tag && *tag != 0) {
      if (rest.empty()) return TaskToken{{*pid, *tag}, 0};
      const auto attempt = actord::detail::TakeDot(rest)
                               ? actord::detail::TakeHex<uint32_t>(rest)
                               : std::optional<uint32_t>();
      if (attempt && *attempt != 0 && rest.empty()) {
        return TaskToken{{*pid, *tag}, *attempt};
      }
    }
  }
  return InvalidField("token", reason::kInvalidYieldToken,
                      absl::StrCat(Quote(text),
                                   " is not a yield token; one looks like "
                                   "1.5f3a90c2.2a.1.7"));
}

}  // namespace actord::runtime
