// Checks the file of a plugin before the plugin is loaded: its completeness,
// and where it looks for libraries.
//
// Thread-safety: pure functions.
#pragma once

#include "absl/status/status.h"

namespace actord::handlers {

// INVALID_ARGUMENT: not an ELF file for this kind of machine, or a truncated
// file. The dynamic linker does not check the size, so access to missing bytes
// would crash the daemon.
absl::Status CheckWholeElf(int file);

// INVALID_ARGUMENT: the file tells the dynamic linker to look for libraries
// relative to the file ($ORIGIN) or to the current directory. A plugin runs as
// a copy in another directory, and a relative directory may belong to anybody.
// Precondition: CheckWholeElf succeeded, and the file does not change.
absl::Status CheckLibraryPaths(int file);

}  // namespace actord::handlers
