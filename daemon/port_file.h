// The file that tells which ports were picked.
//
// Thread-safety: none. Ownership: a PortFile owns a descriptor, and the file
// only as long as nobody replaces it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace actord::daemon {

// Removes what an earlier run left, so that nobody reads a port that is not
// served. A file that is not there is fine.
absl::Status RemovePortFile(const std::string& path);

class PortFile {
 public:
  // Writes one port a line, in one go: a reader sees all of it or no file.
  static absl::StatusOr<std::unique_ptr<PortFile>> Write(
      const std::string& path, const std::vector<int>& ports);
  ~PortFile();
  PortFile(const PortFile&) = delete;
  PortFile& operator=(const PortFile&) = delete;

  // Removes the file, unless somebody has put another one there meanwhile, of
  // whatever text: another daemon, say, that serves by now.
  absl::Status Remove();

 private:
  PortFile(std::string path, int descriptor);
  // Whether there is a file at `path` that is not the one that was written.
  [[nodiscard]] bool IsOthers(const std::string& path) const;

  const std::string path_;
  // Open for as long as this lives, so that no other file gets its number.
  const int descriptor_;
};

}  // namespace actord::daemon
