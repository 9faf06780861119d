// The origin of the boot tree of this start.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>

namespace actord::daemon {

enum class BootTreeState : uint8_t {
  kNone,       // there is no boot.tree
  kStarted,    // from the file
  kContinued,  // from the store; the file has the same text
  kDiffers,    // from the store; the file has another text
};

}  // namespace actord::daemon
