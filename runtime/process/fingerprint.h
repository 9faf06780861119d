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

// 128 bits of SipHash, with the key of the store, of the fixed encoding of a
// request's contents.
struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// The fingerprint of the parts in their order. Each part is hashed with its
// length, so no two lists of parts give the same bytes. `key`: the secret key
// of the store, so that nobody can make two requests with one fingerprint. The
// function never changes.
Fingerprint FingerprintOf(const SipKey& key,
                          std::span<const std::string_view> parts);

}  // namespace actord::runtime
