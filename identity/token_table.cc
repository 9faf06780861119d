#include "identity/token_table.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "identity/token_text.h"

namespace actord::identity {
namespace {

// Compared with if the ID is unknown.
constexpr TokenHash kNoHash = {};

}  // namespace

std::string_view RefusalMessage(Refusal refusal) {
  switch (refusal) {
    case Refusal::kMalformed:
      return "the token is malformed: a character is missing or mistyped";
    case Refusal::kUnknown:
    case Refusal::kWrongSecret:
      return "the token is not valid";
    case Refusal::kExpired:
      return "the token has expired";
    case Refusal::kUnchecked:
      break;
  }
  return "the token could not be checked";
}

TokenTable::TokenTable(std::vector<StoredToken> tokens) {
  tokens_.reserve(tokens.size());
  for (StoredToken& token : tokens) {
    std::string id = token.identity.token_id;
    tokens_.emplace(
        std::move(id),
        Entry{std::make_shared<const Identity>(std::move(token.identity)),
              token.hash});
  }
}

TokenTable::Answer TokenTable::Find(std::string_view text,
                                    absl::Time now) const {
  const auto id = ParseToken(text);
  if (!id.ok()) return {nullptr, Refusal::kMalformed};
  const auto hash = HashToken(text);
  if (!hash.ok()) return {nullptr, Refusal::kUnchecked};
  const auto found = tokens_.find(absl::string_view(id->data(), id->size()));
  const bool is_known = found != tokens_.end();
  const bool is_same = SameHash(*hash, is_known ? found->second.hash : kNoHash);
  if (!is_known) return {nullptr, Refusal::kUnknown};
  if (!is_same) return {nullptr, Refusal::kWrongSecret};
  const std::shared_ptr<const Identity>& identity = found->second.identity;
  if (now >= identity->expires) return {nullptr, Refusal::kExpired};
  return {identity, Refusal::kUnknown};
}

}  // namespace actord::identity
