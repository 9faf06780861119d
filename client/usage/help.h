// actorctl help: describes commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// True if the words of the command line ask for the help of a command. The
// parser would take the words behind "help" for commands, so it must not see
// them.
bool AsksForHelp(const std::vector<std::string>& arguments);

// Prints what --help prints for the command of the words behind "help".
ExitStatus PrintHelp(const CLI::App& app,
                     const std::vector<std::string>& arguments,
                     const Environment& environment);

}  // namespace actord::client
