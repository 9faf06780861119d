// The plugin files that a store keeps, as `plugins/<SHA-256>.so` below its
// directory: a process whose state was written by another version of a plugin
// continues with the code that knows its history.
//
// A file appears under its name when its content is durable. A crash leaves at
// most a file with the suffix .new, which the next Keep replaces.
//
// `sha256` is always 64 hexadecimal digits in lower case.
//
// Thread-safety: one thread at a time. Ownership: borrows the file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"

namespace actord::runtime {

class PluginFiles {
 public:
  // `store`: the directory of the store, which exists. `reserve_bytes`: the
  // room that Keep leaves free on the disk.
  PluginFiles(std::string_view store, FileSystem& files,
              uint64_t reserve_bytes = 0);

  [[nodiscard]] std::string PathOf(std::string_view sha256) const;

  // Reads up to `bytes` bytes of the original into `into`, and returns how
  // many. 0: the end of the file.
  using Read = absl::FunctionRef<absl::StatusOr<size_t>(
      uint64_t offset, size_t bytes, char* into)>;
  // The store has this file, durably, when it returns. Writes the file if it is
  // not there or damaged. `bytes`: the size of the original. DATA_LOSS: the
  // original has another digest. RESOURCE_EXHAUSTED: the disk has no room for
  // the file beside the reserve.
  absl::Status Keep(const std::string& sha256, uint64_t bytes, Read original);
  // NOT_FOUND: the store does not have the file. DATA_LOSS: the file has
  // another content.
  absl::Status Check(const std::string& sha256);
  // The files that the store has, in ascending order. Does not check contents.
  absl::StatusOr<std::vector<std::string>> List();
  // Removes the file and any leftovers of a crash.
  absl::Status Remove(const std::string& sha256);
  // Removes the files that a crash has left unfinished, and returns how many.
  absl::StatusOr<size_t> RemoveUnfinished();

 private:
  // Makes the folder if it does not exist.
  absl::Status OpenFolder();
  // RESOURCE_EXHAUSTED: as Keep.
  absl::Status CheckRoom(uint64_t bytes);
  // The digests of the files DIGEST + `suffix`, in ascending order.
  absl::StatusOr<std::vector<std::string>> ListWith(std::string_view suffix);
  absl::Status Write(const std::string& path, const std::string& sha256,
                     Read original);

  const std::string store_;
  const std::string folder_;
  FileSystem& files_;
  const uint64_t reserve_bytes_;
};

}  // namespace actord::runtime
