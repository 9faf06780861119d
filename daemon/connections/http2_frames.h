// Looks for calls that are begun and reset at once in the bytes of an HTTP/2
// connection that gRPC has not read.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace actord::daemon {

// The number of streams for which `bytes` holds both the frame that begins the
// stream and the frame that resets it. `bytes` may begin and end within a
// frame. Bytes that are encrypted, or that are the content of a message, hold
// such a pair only by an unlikely chance. Stops at `max`, which it then
// returns.
size_t CountCallsResetAtOnce(std::string_view bytes,
                             size_t max = std::numeric_limits<size_t>::max());

}  // namespace actord::daemon
