// A key's request to the owner of the connection or of the terminal.
//
// Thread-safety: a value.
#pragma once

#include <string>

namespace actord::client::top {

struct Wish {
  enum class Kind {
    kNone,
    kQuit,
    kInterrupt,
    kSuspend,
    kRedraw,
    // Take a sample now: the wanted data has changed.
    kSample,
    // Show `pid`.
    kLook,
    // Cancel `pid`.
    kCancel,
    // Terminate `pid`.
    kTerminate,
  };
  Kind kind = Kind::kNone;
  std::string pid = {};
};

}  // namespace actord::client::top
