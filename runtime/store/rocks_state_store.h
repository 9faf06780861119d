// A state store in a directory, by RocksDB: one column family, and no log of
// its own.
//
// Without a log, RocksDB loses its memory tables in a crash. It writes each
// table to a file as a whole, in the order in which the tables were begun, so a
// crash loses the latest batches.
//
// Thread-safety: one thread at a time. RocksDB has threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/store/state_store.h"

namespace rocksdb {
class DB;
class Status;
}  // namespace rocksdb

namespace actord::runtime {

class RocksStateStore final : public StateStore {
 public:
  struct Options {
    // The directory is made if it does not exist; its parent must exist.
    std::string directory;
    // Size of one memory table.
    size_t write_buffer_bytes = 64 << 20;
    size_t block_cache_bytes = 64 << 20;
    // Called when the disk is full: waits a moment. True: the write is
    // repeated. False, or null: it fails with RESOURCE_EXHAUSTED.
    std::function<bool()> await_room;
  };
  // FAILED_PRECONDITION: another program has the directory. DATA_LOSS: its
  // files are damaged.
  static absl::StatusOr<std::unique_ptr<RocksStateStore>> Open(
      const Options& options);
  // Opens the files only for reading, and changes nothing. Write and Flush
  // fail. DATA_LOSS: the files are damaged. Does not notice whether another
  // program uses the directory.
  static absl::StatusOr<std::unique_ptr<RocksStateStore>> OpenToRead(
      const std::string& directory);
  // Loses all data that was not flushed, as a crash does.
  ~RocksStateStore() override;

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::Status Write(std::span<const StateWrite> writes) override;
  absl::Status Flush() override;
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override;

  absl::Status Copy(const std::string& directory) override;
  // Removes such a copy, or an incomplete one. OK if there is none.
  static absl::Status RemoveCopy(const std::string& directory);

  // Reads all files and compares their checksums. DATA_LOSS names the damaged
  // file.
  absl::Status VerifyFiles();

 private:
  RocksStateStore(std::unique_ptr<rocksdb::DB> db,
                  std::function<bool()> await_room);
  // Repeats `write` as long as the disk is full.
  rocksdb::Status OnceThereIsRoom(absl::FunctionRef<rocksdb::Status()> write);

  std::unique_ptr<rocksdb::DB> db_;
  const std::function<bool()> await_room_;
};

}  // namespace actord::runtime
