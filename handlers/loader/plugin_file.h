// The file of a plugin, before it is loaded: which one it is, and whether all
// of it is there.
//
// Thread-safety: pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace actord::handlers {

// Two files with the same identity are one, whatever their names, as long as
// one of them is open or mapped.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Of an open file. INVALID_ARGUMENT: it is a directory, a device or the like.
absl::StatusOr<FileIdentity> IdentityOf(int file);

// INVALID_ARGUMENT: it is no ELF file of this machine's kind, or one that ends
// before its headers say. The dynamic linker does not look, and the bytes that
// are missing would end the daemon.
absl::Status CheckWholeElf(int file);

}  // namespace actord::handlers
