// Reads the bytes of a connection that gRPC has not read: which protocol the
// client speaks, and which calls it begins and resets at once.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace actord::daemon {

// The protocol of a client whose first bytes are `bytes`: as many as have
// arrived, perhaps none.
enum class Protocol {
  kHttp2,  // or nothing says so far that it is another one
  kHttp1,
  kTls,
  kOther,
};
Protocol ProtocolOf(std::string_view bytes);

// The number of streams for which `bytes` holds both the frame that begins the
// stream and the frame that resets it. `bytes` may begin and end within a
// frame. Bytes that are encrypted, or that are the content of a message, hold
// such a pair only by an unlikely chance. Stops at `max`, which it then
// returns.
size_t CountCallsResetAtOnce(std::string_view bytes,
                             size_t max = std::numeric_limits<size_t>::max());

}  // namespace actord::daemon
