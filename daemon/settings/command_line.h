// The daemon's command line.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

struct CommandLine {
  enum class Action { kRun, kHelp, kVersion, kCheckConfig, kPrintConfig };

  Action action = Action::kRun;
  // "": not given.
  std::string config_file;
  // A backup to make the store from; "": not given.
  std::string restore;
  // Replaces a boot tree of the store that differs from the file.
  bool replace_boot_tree = false;
  std::vector<ConfigValue> values;
};

// Also parses every value, so that every error of the command line is found
// here. `arguments` excludes the program's name.
absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments);

// An option that is not a setting.
struct PlainOption {
  std::string_view name;   // "--config"; or "-h, --help"
  std::string_view value;  // the name of its value; "": it takes none
  std::string_view doc;
};

// In the order of --help.
const std::vector<PlainOption>& PlainOptions();
// How settings are found, as --help says it.
std::string_view PrecedenceText();

struct ExitStatusText {
  int status;  // of daemon/exit_status.h
  std::string_view meaning;
};

// By number.
const std::vector<ExitStatusText>& ExitStatusTexts();

std::string HelpText();

}  // namespace actord::daemon
