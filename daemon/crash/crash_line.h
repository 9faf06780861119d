// One line of a report of a crash: as a log line, with the level "fatal".
//
// Thread-safety: functions of their arguments. Both may be called in a signal
// handler.
#pragma once

#include <chrono>
#include <climits>
#include <string_view>

#include "daemon/crash/crash_text.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// A pipe takes it in one piece.
using CrashLine = FixedText<PIPE_BUF>;

// With its line end. `message`: at most the bytes of a CrashText.
[[nodiscard]] CrashLine ToCrashLine(LogFormat format,
                                    std::chrono::milliseconds time,
                                    std::string_view message);

// Writes `line` if the descriptor takes it within `patience_ms`. False: it has
// not, or it is broken.
bool WriteCrashLine(int descriptor, const CrashLine& line, int patience_ms);

}  // namespace actord::daemon
