// Loads the plugins of a configuration as a start does, without serving: for
// --check-config.
#pragma once

#include "absl/status/status.h"
#include "daemon/log/logging.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// Runs the code of the plugins that a start runs: static initialisers, tables,
// and the creation of command handlers. Their lines go to `logger`. Copies of
// the files are in memory alone, and a store is not opened, so nothing is left
// behind. The error has a line for each problem (problem_list.h).
//
// Thread-safety: for the main thread, once; no daemon may run beside it.
absl::Status TryPlugins(const Config& config, Logger& logger);

}  // namespace actord::daemon
