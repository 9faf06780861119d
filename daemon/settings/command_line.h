// The daemon's command line.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

struct CommandLine {
  enum class Action { kRun, kHelp, kVersion, kCheckConfig, kPrintConfig };

  Action action = Action::kRun;
  std::string config_file;  // "": not given
  std::vector<ConfigValue> values;
};

// Also tries every value, so that whatever is wrong on the command line is
// found here. `arguments` come without the program's name.
absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments);

std::string HelpText();

}  // namespace actord::daemon
