// The position of a record, and of the bodies in a record.
//
// Thread-safety: plain values.
#pragma once

#include <compare>
#include <cstdint>

namespace actord::runtime {

// Identifies a record, or a body in it, for ever. A record can hold several
// bodies (messages, completions): body i of the record at `lsn` has the
// position `lsn` + i. No two bodies have the same position, because a record
// has more bytes than bodies.
//
// The short form leaves `stream` and `epoch` 0: the position is in the same
// stream and epoch as the record that names it. A store of one node has only
// this form.
struct Position {
  uint64_t lsn = 0;     // below kLsnLimit; 0: no position
  uint64_t stream = 0;  // the node of the journal
  uint64_t epoch = 0;   // of that node

  [[nodiscard]] bool is_short() const { return stream == 0 && epoch == 0; }
  friend auto operator<=>(const Position&, const Position&) = default;
};

inline constexpr uint64_t kLsnLimit = uint64_t{1} << 61;

}  // namespace actord::runtime
