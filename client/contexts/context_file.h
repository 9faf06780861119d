// The file of contexts: $XDG_CONFIG_HOME/actorctl/contexts.toml, or
// ~/.config/actorctl/contexts.toml.
//
// The file names the daemon that gets a token. So the file and its directory
// must belong to the user or to root, and nobody else may read or write them.
//
// Thread-safety: any thread; several programs may edit the file at a time.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/contexts/context.h"
#include "identity/file_replacement.h"

namespace actord::client {

// The path of the file. "": the environment has neither XDG_CONFIG_HOME nor
// HOME, as an absolute path.
std::string ContextsPath(
    const std::function<std::string(const char*)>& variable);

// The contexts of the file; none if there is no file. Usage errors name the
// file and the mistake.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);

// Reads the contexts, calls `edit`, and writes them back by a rename. Makes the
// directory (mode 0700) and the file (0600) if they are missing. An error of
// `edit` changes nothing. Edits of several programs come one after the other.
absl::Status EditContexts(const std::string& path,
                          const std::function<absl::Status(Contexts&)>& edit,
                          const identity::FileCalls& calls = {});

}  // namespace actord::client
