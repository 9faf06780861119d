// actorctl schedule add
#pragma once

#include "client/commands/commands.h"

namespace actord::client {

void AddAddSchedule(CLI::App& parent, Action& chosen);

}  // namespace actord::client
