// The commands of actorctl as JSON, for programs that call it or describe it.
#pragma once

#include <CLI/CLI.hpp>

#include "client/output/json.h"

namespace actord::client {

// The members "command" (the words that call it), "description", "arguments",
// "options", "commands" (its own commands in the same form, which may be none)
// and "notes" (the text below the options in its help).
Json CommandJson(const CLI::App& command);

}  // namespace actord::client
