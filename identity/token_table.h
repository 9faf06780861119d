// Finds the identity behind a presented token.
//
// Thread-safety: a table never changes, so any number of threads may use it at
// a time. Ownership: a token is shared, so it may outlive the table that gave
// it, as when a stream is open while the tokens are read anew.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "identity/identity.h"
#include "identity/quotas.h"

namespace actord::identity {

// Why a token is refused. For the log of the daemon; a stranger is given
// RefusalMessage.
enum class Refusal {
  kMalformed,
  kUnknown,
  kWrongSecret,
  kExpired,
  // The hash could not be computed.
  kUnchecked,
};

// The message for the client that presented the token. It is the same for an
// unknown token and for a wrong secret, so that nobody learns which IDs exist.
// Only the holder of the right secret learns that a token has expired.
std::string_view RefusalMessage(Refusal refusal);

class TokenTable {
 public:
  // The tokens of a file, in its order. No two of them may have the same ID, as
  // ParseTokens ensures.
  explicit TokenTable(std::vector<StoredToken> tokens);

  struct Answer {
    // Null: the token is refused.
    std::shared_ptr<const StoredToken> token;
    // Meaningless if there is a token.
    Refusal refusal = Refusal::kUnknown;
    // The ID of a refused token, if the table has that ID. For the log.
    std::string known_id = {};
  };
  // `text` may have any bytes, and any length. `now` decides whether the token
  // has expired. For a well-formed token the answer takes the same steps
  // whether its ID is known or not, and the same time wherever its hash
  // differs.
  [[nodiscard]] Answer Find(std::string_view text, absl::Time now) const;
  // Whether the holder of `former`, which another table may have given, would
  // find a token now: `former` or, with the same ID and secret, its successor.
  [[nodiscard]] Answer FindAgain(const StoredToken& former,
                                 absl::Time now) const;

  [[nodiscard]] size_t size() const { return tokens_.size(); }

  // The quotas of each name that has some, expired tokens included. If several
  // tokens of a name set a quota, the last one in the file decides.
  [[nodiscard]] const std::map<std::string, TokenQuotas>& quotas() const {
    return quotas_;
  }

 private:
  static Answer Judge(const std::shared_ptr<const StoredToken>& token,
                      bool is_same, absl::Time now);

  // By their IDs.
  absl::flat_hash_map<std::string, std::shared_ptr<const StoredToken>> tokens_;
  std::map<std::string, TokenQuotas> quotas_;
};

}  // namespace actord::identity
