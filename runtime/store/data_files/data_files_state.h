// Reads a state store that RocksDB cannot open, from its data files: a damaged
// index, a damaged list of files (MANIFEST) or a missing CURRENT costs only the
// files that are damaged themselves.
//
// Not rocksdb::RepairDB: it leaves out a file with one damaged block. It also
// fails if the store has more than two levels, and its Get then finds old
// values. Here each file becomes a column family of a temporary database.
// Every version of an entry has a number, and the highest number wins.
//
// Without a file, or without the list of the files, an entry that was removed
// or changed can come back: the newer version was in the lost file, or the file
// was no longer in use. So the state is not that of any one position, and no
// records may be applied to it.
//
// Thread-safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/store/state_store.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace actord::runtime {

class DataFilesState final : public StateStore {
 public:
  struct Options {
    // The damaged state store. It is only read.
    std::string directory;
    FileSystem* files = nullptr;
    // The folder of the temporary database. The old contents are removed.
    std::string folder;
    // The file system of `folder`: that of the operating system, or one above.
    FileSystem* new_files = nullptr;
  };
  // Called for each file that is left out, with the reason.
  using Lost =
      absl::FunctionRef<void(const std::string& path, const std::string& why)>;
  // Copies the files. DATA_LOSS: no file can be read. RESOURCE_EXHAUSTED: the
  // disk of `folder` is full. PERMISSION_DENIED: a file may not be read.
  static absl::StatusOr<std::unique_ptr<DataFilesState>> Open(
      const Options& options, Lost lost);
  // Removes the folder, unless Close has done so.
  ~DataFilesState() override;
  DataFilesState(const DataFilesState&) = delete;
  DataFilesState& operator=(const DataFilesState&) = delete;

  // Removes the folder. No other function may be called afterwards.
  absl::Status Close();

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  // INTERNAL: the state is only for reading.
  absl::Status Write(std::span<const StateWrite> writes) override;
  absl::Status Flush() override;
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override;

 private:
  struct DataFile {
    std::string path;
    rocksdb::ColumnFamilyHandle* entries = nullptr;
    std::string smallest;
    std::string largest;
  };
  // The versions of one file from a key on.
  class Cursor;

  explicit DataFilesState(const Options& options);

  absl::Status MakeDatabase();
  // The names of the files that the store uses; of all files if that is
  // unknown.
  absl::StatusOr<std::vector<std::string>> Names() const;
  absl::Status CheckRoom(const std::vector<std::string>& names) const;
  // The error if there is no room for the copies.
  [[nodiscard]] absl::Status NoRoom(const std::string& why) const;
  // DATA_LOSS: the file cannot be read.
  absl::Status Take(const std::string& name);

  const Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<DataFile> data_files_;
  bool is_closed_ = false;
};

}  // namespace actord::runtime
