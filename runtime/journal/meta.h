// META-0 and META-1: the identity of the store, and the beginning of its
// journal. Both hold the same data. They are written one after the other, each
// with a sync, so that one of them is intact at any time.
//
// Thread-safety: one thread at a time.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/journal/format.h"

namespace actord::runtime {

class MetaFiles {
 public:
  MetaFiles(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  // Reads the copies. NOT_FOUND: neither exists. FAILED_PRECONDITION: a newer
  // format. DATA_LOSS: neither is intact, they belong to two stores, or the
  // disk could not be read. `damaged` names a copy that is missing or damaged.
  absl::StatusOr<Meta> Read(std::string& damaged);
  // Makes both files, durably. Neither may exist.
  absl::Status Create(const Meta& meta);
  // Writes both copies, durably, with the next sequence number: first the copy
  // that Read has found missing or damaged, so that one copy is always intact.
  // A copy that does not exist is made.
  absl::Status Write(Meta& meta);

  // Removes the files that an interrupted Create has left.
  absl::Status RemoveUnfinished();

 private:
  [[nodiscard]] std::string Path(int copy) const;
  absl::Status WriteCopy(int copy, const Meta& meta);
  absl::Status MakeCopy(int copy, const Meta& meta);

  FileSystem& files_;
  const std::string directory_;
  // The copy that Write writes first.
  int first_copy_ = 0;
};

}  // namespace actord::runtime
