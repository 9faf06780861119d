// Explains in plain words why a TLS handshake failed, and of which client.
//
// Thread-safety: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/log/logging.h"

namespace actord::daemon {

// `line` is a line that gRPC logs. nullopt: it is about something else. `peer`
// as gRPC's `peer()` spells it; "": it is not known. Lines with the same cause
// have the same kind.
std::optional<ExplainedLine> ExplainHandshake(std::string_view line,
                                              const std::string& peer);

// Same as ExplainHandshake, for the client whose handshake failed last on this
// thread. gRPC logs a failure on the thread that sees it.
std::optional<ExplainedLine> ExplainHandshakeOfThread(std::string_view line);

}  // namespace actord::daemon
