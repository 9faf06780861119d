// The commands of `actorctl store` that take items out of a store or put them
// into one.
//
// Thread-safety: as commands.h.
#pragma once

#include "client/commands/commands.h"

namespace actord::client {

void AddExport(CLI::App& store, Action& chosen);
void AddImport(CLI::App& store, Action& chosen);
void AddSalvage(CLI::App& store, Action& chosen);

}  // namespace actord::client
