// The receivers that a SendStream holds. An item to each of them was refused
// for a reason that may pass, and the client has not yet said that it has read
// all such refusals. The later items of a held receiver are refused as well, so
// that the client can send all of them again in their order (stream.proto,
// seen_count).
//
// Bound: kMax. A client that raises seen_count as it reads holds fewer: the
// stream has at most 64 batches that are not acknowledged, of 1,000 items each.
//
// Thread-safety: not thread-safe; belongs to the thread that carries out a
// batch. Ownership: owns all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace actord::daemon {

class HeldReceivers {
 public:
  static constexpr size_t kMax = 100'000;

  // To be called before each batch: the client has read the answers to this
  // many items. Ends the holds whose items are all among them.
  void Seen(uint64_t count);
  // The refusal for an item to this receiver, valid until the next call; null:
  // the receiver is not held.
  [[nodiscard]] const absl::Status* Find(const std::string& receiver) const;
  // To be called for each refused item, in their order. Does nothing if a
  // repetition would be refused in the same way.
  void Refused(const std::string& receiver, uint64_t item,
               const absl::Status& why);
  // INVALID_FIELD: there are more than kMax.
  [[nodiscard]] absl::Status Check() const;

 private:
  struct Hold {
    uint64_t last_item = 0;
    absl::Status why;  // of the first item
  };
  absl::flat_hash_map<std::string, Hold> holds_;
  uint64_t seen_ = 0;  // the highest count so far
};

}  // namespace actord::daemon
