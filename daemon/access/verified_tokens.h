// Texts of tokens that were found valid lately, so that a call with the same
// text needs no SHA-256. A text is kept as 128 bits of SipHash with a secret of
// this start, so neither a core file nor a timing shows a token.
//
// Only valid tokens take a slot, so strangers displace nobody.
//
// Thread-safety: any thread. Ownership: shares the tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "identity/token_table.h"
#include "runtime/system/sip_hash.h"

namespace actord::daemon {

class VerifiedTokens {
 public:
  using Token = std::shared_ptr<const identity::StoredToken>;

  // Without randomness of the system it keeps nothing.
  VerifiedTokens();
  VerifiedTokens(const VerifiedTokens&) = delete;
  VerifiedTokens& operator=(const VerifiedTokens&) = delete;

  // `generation`: the number of the table of tokens in force. The token that
  // was kept for this text and this table; null: there is none. The caller
  // checks whether it has expired.
  [[nodiscard]] Token Find(std::string_view text, uint64_t generation) const;
  // Keeps `token`, which the table `generation` found for `text`.
  void Keep(std::string_view text, uint64_t generation, const Token& token);

 private:
  // More clients than this share slots, and then some calls take the hash.
  static constexpr size_t kSlots = 256;

  // A hash of 128 bits.
  using Key = std::array<uint64_t, 2>;
  struct Slot {
    mutable absl::Mutex mutex;
    Key key ABSL_GUARDED_BY(mutex) = {};
    uint64_t generation ABSL_GUARDED_BY(mutex) = 0;
    Token token ABSL_GUARDED_BY(mutex);
  };

  // nullopt: the text is longer than a token.
  [[nodiscard]] std::optional<Key> KeyOf(std::string_view text) const;

  bool is_on_ = false;
  runtime::SipKey secret_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace actord::daemon
