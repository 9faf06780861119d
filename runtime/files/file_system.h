// Files and directories: the only way to the disk for everything in the runtime
// that must survive the program.
//
// Each function is one system call, so a test can let any call fail, or end the
// program there (tests/support/simulated_disk.h).
//
// Errors have the code of IoError. A message names the call and the path.
//
// Thread-safety: a FileSystem may be used by any thread. One File may be used
// by several threads as long as no two of them write the same bytes. Ownership:
// a File may outlive the FileSystem that has opened it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace actord::runtime {

// The status of a failed call: RESOURCE_EXHAUSTED if the file system or a quota
// is full (ENOSPC, EDQUOT), NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, and
// DATA_LOSS for EIO. Any other number is INTERNAL.
absl::Status IoError(int error_number, std::string_view what,
                     std::string_view path);
// True for the error of a file system or quota that is full.
bool IsNoRoom(const absl::Status& status);

// An open file. Its destructor closes it, and makes nothing durable.
class File {
 public:
  virtual ~File() = default;

  // pwrite: writes some of `bytes`, at least one, and returns how many.
  virtual absl::StatusOr<size_t> WriteSome(uint64_t offset,
                                           std::string_view bytes) = 0;
  // pread: reads up to `bytes` bytes into `into` and returns how many. 0: the
  // end of the file.
  virtual absl::StatusOr<size_t> ReadSome(uint64_t offset, size_t bytes,
                                          char* into) = 0;
  // fdatasync: makes the contents durable, and the size of the file. After an
  // error it is unknown which writes are durable: the kernel may have marked
  // unwritten pages as clean, so a second call would succeed without meaning.
  virtual absl::Status SyncData() = 0;
  // fallocate: reserves room for the first `bytes` bytes, which read as zeros,
  // and sets the size to at least that. The first write to such room changes
  // the file's metadata.
  virtual absl::Status Allocate(uint64_t bytes) = 0;
  virtual absl::StatusOr<uint64_t> Size() = 0;

  // Writes all of `bytes` with as many calls as it takes.
  absl::Status Write(uint64_t offset, std::string_view bytes);
  // Reads until `bytes` bytes are read or the file ends, and returns how many.
  absl::StatusOr<size_t> Read(uint64_t offset, size_t bytes, char* into);
};

// Holds a directory for one program. Its destructor releases it, and so does
// the end of the program.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

// The room of a file system, in bytes.
struct DiskSpace {
  uint64_t total = 0;
  // Room that a program without privileges may still use.
  uint64_t available = 0;
};

enum class OpenMode {
  kRead,
  kReadWrite,
  // The file must not exist. It is durable after SyncDirectory of its
  // directory.
  kCreate,
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                                     OpenMode mode) = 0;
  // Replaces `to`, if it exists, in one step. Durable after SyncDirectory.
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;
  // Durable after SyncDirectory.
  virtual absl::Status Unlink(const std::string& path) = 0;
  // The names in a directory in ascending order, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(
      const std::string& directory) = 0;
  // Succeeds also if the directory exists. Its parent must exist.
  virtual absl::Status MakeDirectory(const std::string& path) = 0;
  // fsync of a directory: makes creations, renames and unlinks in it durable.
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  // statvfs: the room of the file system of this path.
  virtual absl::StatusOr<DiskSpace> Space(const std::string& path) = 0;
  // FAILED_PRECONDITION: another program holds the directory, or another lock
  // of this one does.
  virtual absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
      const std::string& path) = 0;

  // The file system of the operating system. The object lives until the program
  // ends.
  static FileSystem& System();
};

}  // namespace actord::runtime
