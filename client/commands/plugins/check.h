// actorctl plugin check
//
// Thread-safety: as commands.h.
#pragma once

#include "client/commands/commands.h"

namespace actord::client {

void AddPluginCheck(CLI::App& plugin, Action& chosen);

}  // namespace actord::client
