// Private copies of plugin files. The daemon loads a copy, so a program that
// writes to the original later (`cp` over a loaded plugin) does not change code
// that runs.
//
// The copy of orders.so is <directory>/orders-<SHA-256>.so with mode 0500,
// written under another name and renamed. A copy that is there already is used
// if its content has that digest. If the directory cannot be used, the
// copy is a sealed file in memory. A directory can be used if only root and the
// daemon's user can write to it, and exchange it or a directory above it.
//
// Thread-safety: Copy may be called on any thread. Ownership: owns the
// descriptor of the directory; a copy belongs to the caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "handlers/commands/allowed_directories.h"

namespace actord::handlers {

struct PluginCopy {
  // Open for reading.
  UniqueFd file;
  // Path for the dynamic linker; "": the copy is in memory, and the linker
  // opens it by the number of its descriptor.
  std::string path;
  // SHA-256 of the content, 64 hexadecimal digits in lower case. Files with the
  // same digest are the same plugin.
  std::string digest;
};

class PluginCopies {
 public:
  // Maximum size of a plugin file.
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  // Copies that nobody has renewed for this long are removed.
  static constexpr absl::Duration kKeptFor = absl::Hours(30 * 24);

  // Creates the directory with mode 0700, and removes old copies in it. "":
  // copies are in memory.
  explicit PluginCopies(const std::string& directory);

  // The reason why copies are in memory. OK: they are in the directory.
  [[nodiscard]] const absl::Status& status() const { return status_; }

  // `original` is open for reading; `path` gives the copy its name.
  // INVALID_ARGUMENT: the original cannot be read, or is longer than kMaxBytes.
  // RESOURCE_EXHAUSTED: there is no room for the copy, neither in the directory
  // nor in memory.
  [[nodiscard]] absl::StatusOr<PluginCopy> Copy(int original,
                                                std::string_view path) const;

 private:
  absl::Status OpenDirectory();
  void RemoveOldCopies() const;
  // A finished copy with this name and digest that nobody can write; empty:
  // there is none.
  [[nodiscard]] UniqueFd FindCopy(const std::string& name,
                                  std::string_view digest) const;
  [[nodiscard]] absl::StatusOr<PluginCopy> CopyToDirectory(
      int original, const std::string& name) const;

  // Without links, if the directory can be used.
  std::string directory_;
  UniqueFd directory_fd_;
  absl::Status status_;
};

// Whether only root and the daemon's user can write to the file or exchange it:
// one of them owns the file and its directory, and neither is writable for
// others, or for a group that has other members. PERMISSION_DENIED names who
// can write, and the remedy.
absl::Status CheckOnlyOwnersWrite(int file);

}  // namespace actord::handlers
