// Where the boot tree of this start comes from.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>

namespace actord::daemon {

enum class BootTreeState : uint8_t {
  kNone,       // there is no boot.tree
  kStarted,    // from the file
  kContinued,  // from the store; the file is what it was started from
  kDiffers,    // from the store; the file is something else
};

}  // namespace actord::daemon
