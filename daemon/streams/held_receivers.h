// The receivers that a SendStream holds: an item to each of them was refused
// for a reason that may pass, and the client has not read all such refusals.
// Their later items are refused as well, so that the client can send all of
// them again in their order (stream.proto, seen_count).
//
// Bound: one receiver for each item that the client has not seen refused. The
// stream bounds the items by the batches that it reads ahead.
//
// Thread-safety: not thread-safe; belongs to the thread that carries out a
// batch. Ownership: owns all of it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace actord::daemon {

class HeldReceivers {
 public:
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

 private:
  struct Hold {
    uint64_t last_item = 0;
    absl::Status why;  // of the first item
  };
  absl::flat_hash_map<std::string, Hold> holds_;
};

}  // namespace actord::daemon
