#include "identity/token_table.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "identity/token_text.h"

namespace actord::identity {
namespace {

// Used for the comparison if the ID is unknown.
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
    if (!token.identity.quotas.empty()) {
      quotas_[token.identity.name].Update(token.identity.quotas);
    }
    tokens_.emplace(std::move(id),
                    std::make_shared<const StoredToken>(std::move(token)));
  }
}

TokenTable::Answer TokenTable::Judge(
    const std::shared_ptr<const StoredToken>& token, bool is_same,
    absl::Time now) {
  const Identity& identity = token->identity;
  if (!is_same) return {nullptr, Refusal::kWrongSecret, identity.token_id};
  if (now >= identity.expires) {
    return {nullptr, Refusal::kExpired, identity.token_id};
  }
  return {token};
}

TokenTable::Answer TokenTable::Find(std::string_view text,
                                    absl::Time now) const {
  const auto id = ParseToken(text);
  if (!id.ok()) return {nullptr, Refusal::kMalformed};
  const auto hash = HashToken(text);
  if (!hash.ok()) return {nullptr, Refusal::kUnchecked};
  const auto found = tokens_.find(absl::string_view(id->data(), id->size()));
  const bool is_known = found != tokens_.end();
  const bool is_same =
      SameHash(*hash, is_known ? found->second->hash : kNoHash);
  if (!is_known) return {nullptr, Refusal::kUnknown};
  return Judge(found->second, is_same, now);
}

TokenTable::Answer TokenTable::FindAgain(const StoredToken& former,
                                         absl::Time now) const {
  const auto found = tokens_.find(former.identity.token_id);
  if (found == tokens_.end()) return {nullptr, Refusal::kUnknown};
  return Judge(found->second, SameHash(former.hash, found->second->hash), now);
}

}  // namespace actord::identity
