// Formats log lines, in two forms.
//
// Thread-safety: pure functions.
#pragma once

#include <spdlog/formatter.h>

#include <memory>

#include "daemon/settings/config.h"

namespace actord::daemon {

// Console: "2025-01-31T12:00:00.123Z info    message".
// JSON: {"time":"2025-01-31T12:00:00.123Z","level":"info","message":"..."}.
std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format);

}  // namespace actord::daemon
