// The error for a command line that actorctl does not understand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace actord::client {

// The command that was typed, as deep as it was understood: `app` itself, a
// command, or a command of a command.
const CLI::App& DeepestParsed(const CLI::App& app);

// The command of this name, of `app`; null: there is none.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name);

// The words that call a command: "actorctl schedule add".
std::string CommandWords(const CLI::App& command);

// The words that describe a command: "actorctl help schedule add".
std::string HelpFor(const CLI::App& command);

// Names the mistake, and the command or option that may have been meant. `app`
// has tried to parse the words.
std::string ComplaintOf(const CLI::App& app, const CLI::ParseError& error);

// For a word that is no command of `command`: names the command for that word,
// or the nearest one.
std::string NoSuchCommand(const CLI::App& command, const std::string& word);

}  // namespace actord::client
