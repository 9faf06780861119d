// What a key asks of those who have a connection or a terminal.
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
    kSample,     // now: what is wanted has changed
    kLook,       // at `pid`
    kCancel,     // `pid`
    kTerminate,  // `pid`
  };
  Kind kind = Kind::kNone;
  std::string pid = {};
};

}  // namespace actord::client::top
