#include "daemon/api/http_fields.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace actord::daemon {
namespace {

constexpr size_t kMaxDigits = 10;

bool IsShortNumber(std::string_view text) {
  return text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

std::string ValueOf(const AdminRequest& request, std::string_view name) {
  std::vector<std::string> values = request.HeadersOf(name);
  return values.size() == 1 ? std::move(values.front()) : std::string();
}

bool WantsEvents(const AdminRequest& request) {
  const std::string accepted =
      absl::AsciiStrToLower(ValueOf(request, "accept"));
  const std::pair<absl::string_view, absl::string_view> first =
      absl::StrSplit(accepted, absl::MaxSplits(absl::ByAnyChar(",;"), 1));
  return absl::StripAsciiWhitespace(first.first) == kEventStream;
}

bool IsJson(const AdminRequest& request) {
  const std::string type =
      absl::AsciiStrToLower(ValueOf(request, "content-type"));
  absl::string_view rest = type;
  if (!absl::ConsumePrefix(&rest, "application/json")) return false;
  rest = absl::StripAsciiWhitespace(rest);
  if (rest.empty()) return true;
  if (!absl::ConsumePrefix(&rest, ";")) return false;
  rest = absl::StripAsciiWhitespace(rest);
  return rest == "charset=utf-8" || rest == "charset=\"utf-8\"";
}

std::string PercentDecoded(std::string_view text, Plus plus) {
  constexpr size_t kDigits = 2;
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + kDigits < text.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      decoded += absl::HexStringToBytes(
          absl::string_view(text.data() + i + 1, kDigits));
      i += kDigits;
    } else {
      decoded += text[i] == '+' && plus == Plus::kIsBlank ? ' ' : text[i];
    }
  }
  return decoded;
}

absl::StatusOr<Parameters> ReadParameters(std::string_view query,
                                          std::string_view several) {
  Parameters parameters;
  for (const absl::string_view pair :
       absl::StrSplit(absl::string_view(query.data(), query.size()), '&',
                      absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::string name = PercentDecoded(parts.first, Plus::kIsBlank);
    const bool is_known =
        std::any_of(parameters.begin(), parameters.end(),
                    [&](const auto& other) { return other.first == name; });
    if (is_known && name != several) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter ", name, " is given twice"));
    }
    parameters.emplace_back(std::move(name),
                            PercentDecoded(parts.second, Plus::kIsBlank));
  }
  return parameters;
}

absl::StatusOr<absl::Duration> ReadPatience(const AdminRequest& request,
                                            absl::Duration most) {
  const std::vector<std::string> values =
      request.HeadersOf("connect-timeout-ms");
  if (values.empty()) return most;
  int64_t ms = 0;
  if (values.size() > 1 || !IsShortNumber(values.front()) ||
      !absl::SimpleAtoi(values.front(), &ms)) {
    return absl::InvalidArgumentError(
        "Connect-Timeout-Ms must be a number of milliseconds with at most ten "
        "digits");
  }
  return std::min(absl::Milliseconds(ms), most);
}

std::optional<absl::Duration> ReadSeconds(std::string_view text,
                                          absl::Duration most) {
  int64_t seconds = 0;
  if (!IsShortNumber(text) ||
      !absl::SimpleAtoi(absl::string_view(text.data(), text.size()),
                        &seconds)) {
    return std::nullopt;
  }
  return std::min(absl::Seconds(seconds), most);
}

std::optional<absl::Duration> PreferredWait(const AdminRequest& request,
                                            absl::Duration most) {
  for (const std::string& values : request.HeadersOf("prefer")) {
    for (absl::string_view value : absl::StrSplit(values, ',')) {
      value = absl::StripAsciiWhitespace(value.substr(0, value.find(';')));
      constexpr absl::string_view kWait = "wait=";
      if (!absl::StartsWithIgnoreCase(value, kWait)) continue;
      value.remove_prefix(kWait.size());
      return ReadSeconds({value.data(), value.size()}, most);
    }
  }
  return std::nullopt;
}

absl::Status CheckEncoding(const AdminRequest& request) {
  const std::vector<std::string> encodings =
      request.HeadersOf("content-encoding");
  if (encodings.empty() || encodings.front() == "identity") {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      "Content-Encoding must be identity: the JSON API reads no compressed "
      "bodies");
}

}  // namespace actord::daemon
