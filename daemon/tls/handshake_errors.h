// Says in plain words why a TLS handshake of a client failed.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace actord::daemon {

// `line` is a line that gRPC logs. nullopt: it is about something else.
std::optional<std::string> ExplainHandshake(std::string_view line);

}  // namespace actord::daemon
