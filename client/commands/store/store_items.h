// The commands of `actorctl store` that read the items of a store or write
// items into a store.
//
// Thread-safety: as commands.h.
#pragma once

#include "client/commands/commands.h"

namespace actord::client {

void AddExport(CLI::App& store, Action& chosen);
void AddImport(CLI::App& store, Action& chosen);
void AddSalvage(CLI::App& store, Action& chosen);

}  // namespace actord::client
