// Checks the file of a plugin before the plugin is loaded: the identity of the
// file, and its completeness.
//
// Thread-safety: pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace actord::handlers {

// Two files with the same identity are the same file, whatever their names, as
// long as one of them is open or mapped.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Returns the identity of an open file. INVALID_ARGUMENT: `file` is not a
// regular file, but a directory or a device, for example.
absl::StatusOr<FileIdentity> IdentityOf(int file);

// INVALID_ARGUMENT: not an ELF file for this kind of machine, or a truncated
// file. The dynamic linker does not check the size, so access to missing bytes
// would crash the daemon.
absl::Status CheckWholeElf(int file);

}  // namespace actord::handlers
