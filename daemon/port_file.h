// The file with the ports that the daemon serves on.
//
// Thread-safety: none. Ownership: a PortFile owns a descriptor, and owns the
// file only until another program replaces it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace actord::daemon {

// Removes the file of an earlier run, so that no client reads a port that is
// not served. A missing file is not an error.
absl::Status RemovePortFile(const std::string& path);

class PortFile {
 public:
  // Writes one port on each line, atomically: a reader sees all lines or no
  // file.
  static absl::StatusOr<std::unique_ptr<PortFile>> Write(
      const std::string& path, const std::vector<int>& ports);
  ~PortFile();
  PortFile(const PortFile&) = delete;
  PortFile& operator=(const PortFile&) = delete;

  // Removes the file, unless another file has replaced it meanwhile, for
  // example the file of another daemon that now serves. The content of the new
  // file does not matter.
  absl::Status Remove();

 private:
  PortFile(std::string path, int descriptor);
  // Returns true if the file at `path` is not the file that Write has written.
  [[nodiscard]] bool IsOthers(const std::string& path) const;

  const std::string path_;
  // Stays open as long as this object lives, so that no other file gets the
  // same inode number.
  const int descriptor_;
};

}  // namespace actord::daemon
