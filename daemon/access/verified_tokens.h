// Texts of tokens that were found valid lately, so that a call with the same
// text needs no SHA-256, and no look-up of the owner and its quotas. A text is
// kept as 128 bits of SipHash with a secret of this start, so neither a core
// file nor a timing shows a token.
//
// Only valid tokens take a slot, so strangers displace nobody.
//
// Thread-safety: any thread. Ownership: shares the tokens; borrows the quotas.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/access/client_quotas.h"
#include "identity/token_table.h"
#include "runtime/process/owner.h"
#include "runtime/system/sip_hash.h"

namespace actord::daemon {

class VerifiedTokens {
 public:
  using Token = std::shared_ptr<const identity::StoredToken>;
  // The client that holds a token. It is the same as long as the daemon runs.
  struct Holder {
    runtime::Owner owner = runtime::Owner::kNobody;
    ClientQuota* quota = nullptr;  // null: the holder is not known
  };
  struct Found {
    Token token;  // null: none was kept
    Holder holder;
  };

  // Without randomness of the system it keeps nothing.
  VerifiedTokens();
  VerifiedTokens(const VerifiedTokens&) = delete;
  VerifiedTokens& operator=(const VerifiedTokens&) = delete;

  // `generation`: the number of the table of tokens in force. Returns the token
  // that was kept for this text and this table. The caller checks whether it
  // has expired.
  [[nodiscard]] Found Find(std::string_view text, uint64_t generation) const;
  // Keeps `token`, which the table `generation` found for `text`.
  void Keep(std::string_view text, uint64_t generation, const Token& token);
  // Keeps the holder beside `token`, if that is still kept for `text`.
  void KeepHolder(std::string_view text, const Token& token,
                  const Holder& holder);

 private:
  // More clients than this share slots, and then some calls take the hash.
  static constexpr size_t kSlots = 256;

  // A hash of 128 bits.
  using Key = std::array<uint64_t, 2>;
  struct Slot {
    mutable absl::Mutex mutex;
    Key key ABSL_GUARDED_BY(mutex) = {};
    uint64_t generation ABSL_GUARDED_BY(mutex) = 0;
    Found found ABSL_GUARDED_BY(mutex);
  };

  // nullopt: the text is longer than a token.
  [[nodiscard]] std::optional<Key> KeyOf(std::string_view text) const;

  bool is_on_ = false;
  runtime::SipKey secret_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace actord::daemon
