// Paths of stores and backups, as people write them, and the mistakes in them,
// so that the same mistake has the same exit status in all commands.
//
// Thread-safety: pure functions, apart from reading the disk.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "client/output/exit_status.h"

namespace actord::client {

// "x/" is "x": the completion of a shell adds the slash.
inline std::string WithoutEndSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// For the error of a command that makes a store or a backup: a directory that
// is not empty is a mistake in the command line. Other errors stay.
inline absl::Status WithUsage(const absl::Status& status) {
  return absl::IsAlreadyExists(status)
             ? UsageError(std::string(status.message()))
             : status;
}

inline bool IsOtherThanDirectory(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) &&
         !std::filesystem::is_directory(status);
}

// NOT_FOUND: the path of a store is that of a file.
inline absl::Status CheckStorePath(const std::string& path) {
  return IsOtherThanDirectory(path)
             ? absl::NotFoundError(
                   path + " is no directory, and so no store of actord")
             : absl::OkStatus();
}

// A usage error: the path of a new store or backup is that of a file.
inline absl::Status CheckNewPath(const std::string& path) {
  return IsOtherThanDirectory(path)
             ? UsageError(path +
                          " is no directory: name a directory that does not "
                          "exist, or an empty one")
             : absl::OkStatus();
}

}  // namespace actord::client
