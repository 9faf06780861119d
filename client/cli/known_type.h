// Warns of process types that the daemon does not have.
//
// Thread-safety: as Invocation.
#pragma once

#include <string>

#include "client/cli/invocation.h"

namespace actord::client {

// Asks the daemon for its process types. If `type` is not among them, writes a
// line on standard error that ends with `consequence`. Writes nothing if the
// daemon does not answer, for example because the caller may not ask.
void WarnOfUnknownType(Invocation& invocation, const std::string& type,
                       const std::string& consequence);

}  // namespace actord::client
