#include "identity/token_layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "identity/quotas.h"
#include "identity/role.h"
#include "identity/token_text.h"

namespace actord::identity {
namespace {

// Names and patterns need no escapes in TOML.
void AppendList(std::string_view key, const std::vector<std::string>& patterns,
                std::string& text) {
  if (patterns.empty()) return;
  absl::StrAppend(&text, std::string(key), " = [");
  if (patterns.size() == 1) {
    absl::StrAppend(&text, "\"", patterns.front(), "\"]\n");
    return;
  }
  // One a line, so that no line is too long.
  for (const std::string& pattern : patterns) {
    absl::StrAppend(&text, "\n  \"", pattern, "\",");
  }
  absl::StrAppend(&text, "\n]\n");
}

// The begin of the line `number`; the end of the text if there is no such line.
size_t BeginOfLine(std::string_view text, uint32_t number) {
  size_t at = 0;
  for (uint32_t line = 1; line < number; ++line) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    at = end + 1;
  }
  return at;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

std::string QuotasText(const TokenQuotas& quotas, std::string_view between) {
  std::string text;
  for (size_t i = 0; i < kQuotas; ++i) {
    if (!quotas.values[i]) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    std::string(kQuotaTable[i].name), std::string(between),
                    *quotas.values[i]);
  }
  return text;
}

std::string FormatTokenTable(const StoredToken& token) {
  const Identity& identity = token.identity;
  std::string text = absl::StrCat(
      "[[token]]\nid = \"", identity.token_id, "\"\nname = \"", identity.name,
      "\"\nrole = \"", std::string(RoleName(identity.role)), "\"\nhash = \"",
      FormatHash(token.hash), "\"\n");
  if (identity.expires != absl::InfiniteFuture()) {
    absl::StrAppend(&text, "expires = ",
                    absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", identity.expires,
                                     absl::UTCTimeZone()),
                    "\n");
  }
  AppendList("submit", identity.submit, text);
  AppendList("send", identity.send, text);
  AppendList("work", identity.work, text);
  absl::StrAppend(&text, "see = \"", std::string(SeesName(identity.sees)),
                  "\"\n");
  if (!identity.quotas.empty()) {
    absl::StrAppend(&text, "quotas = {", QuotasText(identity.quotas, " = "),
                    "}\n");
  }
  return text;
}

std::string TextWithToken(std::string_view text, const StoredToken& token) {
  std::string result(text);
  if (!result.empty() && !result.ends_with('\n')) result += '\n';
  if (!result.empty()) result += '\n';
  return result + FormatTokenTable(token);
}

std::string TextWithoutToken(std::string_view text, const TokenEntry& entry) {
  size_t begin = BeginOfLine(text, entry.first_line);
  const size_t end = BeginOfLine(text, entry.last_line + 1);
  const size_t next = BeginOfLine(text, entry.last_line + 2);
  // One of the blank lines above and below the table stays.
  if (entry.first_line > 1 && IsBlank(text.substr(end, next - end))) {
    const size_t above = BeginOfLine(text, entry.first_line - 1);
    if (IsBlank(text.substr(above, begin - above))) begin = above;
  }
  std::string result(text.substr(0, begin));
  result += text.substr(end);
  return result;
}

}  // namespace actord::identity
