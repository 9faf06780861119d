#include "identity/token_keys.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "actord/text.h"
#include "identity/quotas.h"
#include "identity/role.h"
#include "identity/token_text.h"
#include "identity/token_toml.h"

namespace actord::identity {
namespace {

constexpr size_t kMaxQuoted = 40;

absl::Status Wrong(std::string_view rule, std::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", std::string(rule), ", not ", Quoted(value)));
}

absl::StatusOr<std::string> TextOf(const toml::node& node,
                                   std::string_view rule) {
  if (const auto* text = node.as_string()) return text->get();
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", std::string(rule), ", in quotes"));
}

absl::Status ReadId(const toml::node& node, StoredToken& token) {
  const auto text = TextOf(node, kTokenIdRule);
  if (!text.ok()) return text.status();
  if (!IsTokenId(*text)) return Wrong(kTokenIdRule, *text);
  token.identity.token_id = *text;
  return absl::OkStatus();
}

absl::Status ReadName(const toml::node& node, StoredToken& token) {
  const auto text = TextOf(node, kNameRule);
  if (!text.ok()) return text.status();
  if (!IsName(*text)) return Wrong(kNameRule, *text);
  token.identity.name = *text;
  return absl::OkStatus();
}

absl::Status ReadRole(const toml::node& node, StoredToken& token) {
  const auto text = TextOf(node, kRoleRule);
  if (!text.ok()) return text.status();
  const auto role = ParseRole(*text);
  if (!role) return Wrong(kRoleRule, *text);
  token.identity.role = *role;
  return absl::OkStatus();
}

absl::Status ReadHash(const toml::node& node, StoredToken& token) {
  const auto text = TextOf(node, kTokenHashRule);
  if (!text.ok()) return text.status();
  const auto hash = ParseHash(*text);
  if (!hash) {
    // Does not repeat the value: it may be a secret in the wrong place.
    return absl::InvalidArgumentError(
        absl::StrCat("must be ", std::string(kTokenHashRule)));
  }
  token.hash = *hash;
  return absl::OkStatus();
}

absl::Status ReadExpires(const toml::node& node, StoredToken& token) {
  const auto* const value = node.as_date_time();
  if (value == nullptr || !value->get().offset ||
      value->get().offset->minutes != 0) {
    return absl::InvalidArgumentError(
        "must be a time in UTC without quotes, such as 2027-01-31T00:00:00Z");
  }
  const toml::date_time& time = value->get();
  const absl::CivilSecond second(time.date.year, time.date.month, time.date.day,
                                 time.time.hour, time.time.minute,
                                 time.time.second);
  token.identity.expires = absl::FromCivil(second, absl::UTCTimeZone()) +
                           absl::Nanoseconds(time.time.nanosecond);
  return absl::OkStatus();
}

absl::Status ReadSee(const toml::node& node, StoredToken& token) {
  const auto text = TextOf(node, kSeesRule);
  if (!text.ok()) return text.status();
  const auto sees = ParseSees(*text);
  if (!sees) return Wrong(kSeesRule, *text);
  token.identity.sees = *sees;
  return absl::OkStatus();
}

absl::Status ReadPatterns(const toml::node& node,
                          std::vector<std::string>& patterns) {
  const toml::array* const array = node.as_array();
  if (array == nullptr) {
    return absl::InvalidArgumentError(
        "must be a list of patterns, such as [\"order\", \"invoice.*\"]");
  }
  if (array->empty()) {
    return absl::InvalidArgumentError(
        "is an empty list, which permits nothing: name a pattern, or leave the "
        "key out to permit all");
  }
  if (array->size() > kMaxPatterns) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", array->size(), " patterns; at most ", kMaxPatterns,
                     " are allowed"));
  }
  for (const toml::node& item : *array) {
    const auto text = TextOf(item, kPatternRule);
    if (!text.ok()) return text.status();
    if (!IsTokenPattern(*text)) return Wrong(kPatternRule, *text);
    patterns.push_back(*text);
  }
  return absl::OkStatus();
}

absl::Status ReadSubmit(const toml::node& node, StoredToken& token) {
  return ReadPatterns(node, token.identity.submit);
}
absl::Status ReadSend(const toml::node& node, StoredToken& token) {
  return ReadPatterns(node, token.identity.send);
}
absl::Status ReadWork(const toml::node& node, StoredToken& token) {
  return ReadPatterns(node, token.identity.work);
}

std::string QuotaNames() {
  return absl::StrJoin(kQuotaTable, ", ",
                       [](std::string* out, const QuotaRow& row) {
                         absl::StrAppend(out, std::string(row.name));
                       });
}

absl::Status ReadQuotas(const toml::node& node, StoredToken& token) {
  const toml::table* const table = node.as_table();
  if (table == nullptr || !table->is_inline() || table->empty()) {
    return absl::InvalidArgumentError(
        "must be a table in one line, such as {streams = 5, processes = 1000}");
  }
  for (const auto& [key, value] : *table) {
    const std::optional<size_t> quota = FindQuota(key.str());
    if (!quota) {
      return absl::InvalidArgumentError(
          absl::StrCat("has the unknown quota ", Quoted(key.str()),
                       ": there are ", QuotaNames()));
    }
    const QuotaRow& row = kQuotaTable[*quota];
    const auto* const number = value.as_integer();
    if (number == nullptr || number->get() < 0 ||
        !IsQuotaValue(row, static_cast<uint64_t>(number->get()))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "needs a whole number of ", std::string(row.unit), " from ", row.min,
          " to ", row.max, ", or 0 for no limit, as ", std::string(row.name)));
    }
    token.identity.quotas.values[*quota] = static_cast<uint64_t>(number->get());
  }
  return absl::OkStatus();
}

constexpr auto kKeys = std::to_array<TokenKey>({
    {"id", ReadId, kTokenIdRule},
    {"name", ReadName, kNameRule},
    {"role", ReadRole, kRoleRule},
    {"hash", ReadHash, kTokenHashRule},
    {"expires", ReadExpires, {}},
    {"submit", ReadSubmit, {}},
    {"send", ReadSend, {}},
    {"work", ReadWork, {}},
    {"see", ReadSee, {}},
    {"quotas", ReadQuotas, {}},
});

}  // namespace

std::span<const TokenKey> TokenKeys() { return kKeys; }

std::string Quoted(std::string_view value) {
  const std::string text = RedactTokens(value);
  const std::string_view cut = CutUtf8(text, kMaxQuoted);
  return absl::StrCat(
      "\"", absl::Utf8SafeCEscape(absl::string_view(cut.data(), cut.size())),
      cut.size() < text.size() ? "...\"" : "\"");
}

}  // namespace actord::identity
