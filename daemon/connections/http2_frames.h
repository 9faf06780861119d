// Examines the bytes of a connection that gRPC has not read: finds the protocol
// of the client, the calls that it begins and resets at once, and its pings.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace actord::daemon {

// The protocol of a client. `bytes`: its first bytes, as far as they have
// arrived.
enum class Protocol {
  kHttp2,  // or no byte so far speaks against it
  kHttp1,
  kTls,
  kOther,
};
Protocol ProtocolOf(std::string_view bytes);
// Whether further bytes do not change the protocol of the client: the preface
// of HTTP/2, and the word that another protocol begins with, are complete.
bool AreEnoughBytes(std::string_view bytes);

// The size of a SETTINGS frame with one setting (RFC 9113, section 6.5).
inline constexpr size_t kOneSettingBytes = 15;

// The number of streams for which `bytes` holds both the frame that begins the
// stream and the frame that resets it. `bytes` may begin and end within a
// frame. Encrypted bytes, and the content of a message, contain such a pair
// only by an unlikely chance. Stops at `max`, which it then returns.
size_t CountCallsResetAtOnce(std::string_view bytes,
                             size_t max = std::numeric_limits<size_t>::max());

// The number of pings in `bytes` that ask for an answer. `bytes` may begin and
// end within a frame. Encrypted bytes, and the content of a message, contain a
// ping only by an unlikely chance. Stops at `max`, which it then returns.
size_t CountPings(std::string_view bytes,
                  size_t max = std::numeric_limits<size_t>::max());

}  // namespace actord::daemon
