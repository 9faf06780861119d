// The ids of requests that were carried out, with the data for the answer to a
// repeat: the content of the request, and the process that it started or
// reached.
//
// Bounds: an id is forgotten after its time. When there would be more than
// `max` ids, the id with the least time left is forgotten. An id takes at most
// about 140 bytes, regardless of the length of its text.
//
// Thread-safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "runtime/process/fingerprint.h"
#include "runtime/process/pid.h"
#include "runtime/process/submission.h"

namespace actord::runtime {

class RememberedIds {
 public:
  struct Entry {
    Fingerprint content;
    Pid answer;
  };

  explicit RememberedIds(const RequestIdBounds& bounds) : bounds_(bounds) {}

  // Null: the id is not remembered. Valid until the next change.
  [[nodiscard]] const Entry* Find(const Fingerprint& key) const;
  // Remembers a new id for `left_ns`, at most for the time of the bounds.
  // Entries must be added in the order in which they expire.
  void Remember(const Fingerprint& key, const Entry& entry, uint64_t now_ns,
                uint64_t left_ns = UINT64_MAX);
  // Forgets expired ids.
  void ForgetOld(uint64_t now_ns);

  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  struct Hash {
    // A key is a keyed hash already.
    size_t operator()(const Fingerprint& key) const { return key.low; }
  };
  struct Expiry {
    uint64_t at_ns = 0;
    Fingerprint key;
  };

  const RequestIdBounds bounds_;
  absl::flat_hash_map<Fingerprint, Entry, Hash> entries_;
  // One for each entry, in the order in which they expire.
  std::deque<Expiry> expiries_;
};

}  // namespace actord::runtime
