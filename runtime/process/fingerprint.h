// The fingerprint of a request, which is kept with its id: a repeated request
// has the same fingerprint, also after a restart and in a later version.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/system/sip_hash.h"

namespace actord::runtime {

// 128 bits of SipHash, with the key of the store, of the fixed encoding of what
// a request asks for.
struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// Of the parts in their order; each counts with its length, so no two lists of
// parts are hashed as the same bytes. `key`: secret, and of the store, so that
// nobody can make two requests with one fingerprint. Fixed for ever.
Fingerprint FingerprintOf(const SipKey& key,
                          std::span<const std::string_view> parts);

}  // namespace actord::runtime
