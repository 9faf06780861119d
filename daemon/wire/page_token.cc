#include "daemon/wire/page_token.h"

#include <charconv>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "daemon/wire/proto_check.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr size_t kHexDigits = 16;

uint64_t Check(uint64_t position, uint64_t scope) {
  return absl::HashOf(position, scope);
}

absl::Status Refused() {
  return runtime::InvalidField(
      "page_token", runtime::reason::kInvalidPageToken,
      "page_token is not the next_page_token of a list with these filters");
}

bool ReadHex(std::string_view text, uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, 16);
  return error == std::errc() && rest == end;
}

}  // namespace

std::string MakePageToken(uint64_t position, uint64_t scope) {
  return absl::StrFormat("%016x%016x", position, Check(position, scope));
}

absl::StatusOr<uint64_t> ReadPageToken(std::string_view token, uint64_t scope) {
  if (token.empty()) return 0;
  uint64_t position = 0;
  uint64_t check = 0;
  if (token.size() != 2 * kHexDigits ||
      !ReadHex(token.substr(0, kHexDigits), position) ||
      !ReadHex(token.substr(kHexDigits), check) ||
      check != Check(position, scope)) {
    return Refused();
  }
  return position;
}

std::string FormatEntryId(uint32_t incarnation, uint64_t number) {
  return absl::StrFormat("%x.%d", incarnation, number);
}

absl::Status ReadEntryId(std::string_view field, std::string_view id,
                         uint32_t incarnation, uint64_t& number) {
  if (id.empty()) return absl::OkStatus();
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(
      absl::string_view(id.data(), id.size()), absl::MaxSplits('.', 1));
  uint32_t run = 0;
  uint64_t read = 0;
  // Each id has exactly one valid text.
  if (!absl::SimpleHexAtoi(parts.first, &run) ||
      !absl::SimpleAtoi(parts.second, &read) ||
      FormatEntryId(run, read) != id) {
    return Wrong(field, "is not the id of an entry of this list");
  }
  if (run == incarnation) number = read;
  return absl::OkStatus();
}

}  // namespace actord::daemon
