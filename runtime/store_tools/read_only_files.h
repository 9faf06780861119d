// A file system that changes nothing: a file that is opened for writing is
// opened only for reading, and every call that would change the disk fails. A
// directory can be locked; the lock leaves no trace.
//
// Thread-safety: as the file system below. Lifetime: ends before it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"

namespace actord::runtime {

class ReadOnlyFiles final : public FileSystem {
 public:
  explicit ReadOnlyFiles(FileSystem& below) : below_(below) {}

  // PERMISSION_DENIED for OpenMode::kCreate.
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                             OpenMode mode) override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& directory) override {
    return below_.List(directory);
  }
  absl::StatusOr<DiskSpace> Space(const std::string& path) override {
    return below_.Space(path);
  }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
      const std::string& path) override {
    return below_.LockDirectory(path);
  }

  // PERMISSION_DENIED.
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Unlink(const std::string& path) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& path) override;

 private:
  FileSystem& below_;
};

}  // namespace actord::runtime
