// actorctl help: describes commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// True if the words of the command line ask for the help of a command as text,
// without any option. Then a mistake in the environment does not matter.
bool AsksForHelp(const std::vector<std::string>& arguments);

// The command of the words behind "help"; null: there is none, and the
// complaint is written.
const CLI::App* FindHelped(const CLI::App& app,
                           const std::vector<std::string>& words,
                           const Environment& environment);

// Prints what --help prints for the command of the words behind "help".
ExitStatus PrintHelp(const CLI::App& app,
                     const std::vector<std::string>& arguments,
                     const Environment& environment);

}  // namespace actord::client
