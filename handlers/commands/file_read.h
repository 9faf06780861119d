// file.read: reads a file on the daemon's machine.
//
//   {"path": text}
//
// The path must be absolute and lead to a regular file below an allowed
// directory. Completes with the file's bytes (application/octet-stream), or
// with INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (not
// a regular file) or RESOURCE_EXHAUSTED (larger than the limit).
//
// Thread-safety: constant; runs on the blocking pool.
#pragma once

#include <actord/handler.h>

#include <cstddef>
#include <utility>

#include "handlers/commands/allowed_directories.h"

namespace actord::handlers {

class FileRead : public Handler {
 public:
  static constexpr const char* kCommand = "file.read";
  static constexpr const char* kDoc =
      "Reads a regular file below an allowed directory.";
  static constexpr HandlerMode kMode = HandlerMode::kPooled;

  FileRead(AllowedDirectories directories, size_t max_bytes)
      : directories_(std::move(directories)), max_bytes_(max_bytes) {}
  Reply Handle(const Command& command) const;

 private:
  const AllowedDirectories directories_;
  const size_t max_bytes_;
};

}  // namespace actord::handlers
