// Replaces a file as a whole: after a crash at any moment its path holds either
// the old bytes or the new ones.
//
// Thread-safety: different files at a time.
#pragma once

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace actord::identity {

// The calls of the system that can fail although nothing is wrong with the
// arguments. Tests make them fail.
struct FileCalls {
  ssize_t (*write)(int fd, const void* bytes, size_t count) = ::write;
  int (*fsync)(int fd) = ::fsync;
  int (*rename)(const char* from, const char* to) = ::rename;
};

// Puts `text` into the file at `path`, which must exist, must not be a symbolic
// link, and has the status `old`. The file keeps its owner, group and mode.
//
// The bytes are written into a file beside it, ".NAME.new", and are on the disk
// before the rename. A file that an earlier crash left there is removed. The
// caller must make sure that nobody else replaces the file in the meantime.
//
// After an error that ends in "the file is unchanged", the file is unchanged.
// The only other error is DATA_LOSS: the file is replaced, but a loss of power
// may bring the old one back, because its directory could not be synchronised.
absl::Status ReplaceFile(const std::string& path, std::string_view text,
                         const struct stat& old, const FileCalls& calls = {});

}  // namespace actord::identity
