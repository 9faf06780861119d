// The handle by which a callee answers a call. Callees and events carry its 64
// bits and do not interpret them.
//
//   caller          bits
//   a process       an actord_completion: the handle of a yield at the broker,
//                   whose slot is below kFromOutside
//   outside         the bit kFromOutside, and the number of the call in the
//                   other bits
//
// Thread-safety: a plain value.
#pragma once

#include <cstdint>

#include "runtime/memory/slot_table.h"
#include "runtime/process/yield_record.h"

namespace actord::runtime {

class CallHandle {
 public:
  explicit CallHandle(uint64_t bits) : bits_(bits) {}
  // Numbers begin at 1 and repeat after 2^63.
  static CallHandle FromOutside(uint64_t number) {
    return CallHandle((number << 32) | kFromOutside |
                      ((number >> 32) & (kFromOutside - 1)));
  }

  [[nodiscard]] bool is_from_outside() const {
    return (bits_ & kFromOutside) != 0;
  }
  [[nodiscard]] uint64_t bits() const { return bits_; }

 private:
  static constexpr uint64_t kFromOutside = uint64_t{1} << 31;
  static_assert(SlotTable<YieldRecord>::kMaxSlots <= kFromOutside);

  uint64_t bits_;
};

}  // namespace actord::runtime
