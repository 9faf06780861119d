#include "runtime/store/rocks_state_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <cstdarg>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

// `directory`: of the database. RocksDB does not always name the file.
absl::Status StatusOf(const rocksdb::Status& status,
                      const std::string& directory, std::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const std::string text =
      absl::StrCat("state store ", directory, ": ", std::string(what), ": ",
                   status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(text);
  if (status.IsCorruption()) return absl::DataLossError(text);
  return absl::InternalError(text);
}

rocksdb::Slice SliceOf(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view ViewOf(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// RocksDB's own log would be a file beside the database. On a full disk a
// failed write to it ends the program. Statuses report all errors.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::Options OptionsOf(const RocksStateStore::Options& options) {
  rocksdb::Options of;
  of.create_if_missing = true;
  of.paranoid_checks = true;
  of.write_buffer_size = options.write_buffer_bytes;
  of.max_background_jobs = 2;
  // A batch writes the keys of a kind in their order. With the place of the
  // last key as a hint, RocksDB finds the next place at once.
  of.memtable_insert_with_hint_prefix_extractor.reset(
      rocksdb::NewFixedPrefixTransform(kKeyKindBytes));
  // A store that is closed without a flush loses the same data as in a crash,
  // so there is only one way to recover.
  of.avoid_flush_during_shutdown = true;
  of.info_log = std::make_shared<NoLog>();
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  of.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return of;
}

}  // namespace

RocksStateStore::RocksStateStore(std::unique_ptr<rocksdb::DB> db,
                                 std::function<bool()> await_room)
    : db_(std::move(db)), await_room_(std::move(await_room)) {}

RocksStateStore::~RocksStateStore() = default;

absl::StatusOr<std::unique_ptr<RocksStateStore>> RocksStateStore::Open(
    const Options& options) {
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(OptionsOf(options), options.directory, &db);
  if (status.IsIOError() &&
      status.ToString().find("lock") != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat("state store: another program has ", options.directory,
                     ": ", status.ToString()));
  }
  if (!status.ok()) return StatusOf(status, options.directory, "open");
  return std::unique_ptr<RocksStateStore>(new RocksStateStore(
      std::unique_ptr<rocksdb::DB>(db), options.await_room));
}

absl::StatusOr<std::unique_ptr<RocksStateStore>> RocksStateStore::OpenToRead(
    const std::string& directory) {
  rocksdb::DB* db = nullptr;
  Options of_store;
  of_store.directory = directory;
  rocksdb::Options options = OptionsOf(of_store);
  options.create_if_missing = false;
  const rocksdb::Status status =
      rocksdb::DB::OpenForReadOnly(options, directory, &db);
  if (!status.ok()) return StatusOf(status, directory, "open");
  return std::unique_ptr<RocksStateStore>(
      new RocksStateStore(std::unique_ptr<rocksdb::DB>(db), nullptr));
}

absl::Status RocksStateStore::Copy(const std::string& directory) {
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
  if (!status.ok()) return StatusOf(status, directory, "copy");
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // Files that never change become hard links, so a copy takes no room.
  status = checkpoint->CreateCheckpoint(directory, /*log_size_for_flush=*/0);
  return StatusOf(status, directory, "copy");
}

absl::Status RocksStateStore::RemoveCopy(const std::string& directory) {
  return StatusOf(rocksdb::DestroyDB(directory, rocksdb::Options()), directory,
                  "remove the copy");
}

absl::Status RocksStateStore::VerifyFiles() {
  return StatusOf(db_->VerifyChecksum(), db_->GetName(), "verify");
}

absl::StatusOr<std::optional<std::string>> RocksStateStore::Get(
    std::string_view key) {
  std::string value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), SliceOf(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return StatusOf(status, db_->GetName(), "read");
  return std::optional<std::string>(std::move(value));
}

absl::Status RocksStateStore::Write(std::span<const StateWrite> writes) {
  rocksdb::WriteBatch batch;
  for (const StateWrite& write : writes) {
    const rocksdb::Status status =
        write.value.has_value()
            ? batch.Put(SliceOf(write.key), SliceOf(*write.value))
            : batch.Delete(SliceOf(write.key));
    if (!status.ok()) return StatusOf(status, db_->GetName(), "batch");
  }
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return StatusOf(OnceThereIsRoom([&] { return db_->Write(options, &batch); }),
                  db_->GetName(), "write");
}

rocksdb::Status RocksStateStore::OnceThereIsRoom(
    absl::FunctionRef<rocksdb::Status()> write) {
  for (;;) {
    rocksdb::Status status = write();
    if (!status.IsNoSpace() || !await_room_ || !await_room_()) return status;
    // RocksDB keeps the failed data in memory. This call, or a thread of
    // RocksDB, writes it. The next attempt reports an error.
    db_->Resume().PermitUncheckedError();
  }
}

absl::Status RocksStateStore::Flush() {
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  return StatusOf(OnceThereIsRoom([&] { return db_->Flush(options); }),
                  db_->GetName(), "flush");
}

absl::Status RocksStateStore::Scan(std::string_view first,
                                   std::string_view last, Use use) {
  const rocksdb::Slice bound = SliceOf(last);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> entry(db_->NewIterator(options));
  for (entry->Seek(SliceOf(first)); entry->Valid(); entry->Next()) {
    if (!use(ViewOf(entry->key()), ViewOf(entry->value()))) break;
  }
  return StatusOf(entry->status(), db_->GetName(), "scan");
}

}  // namespace actord::runtime
