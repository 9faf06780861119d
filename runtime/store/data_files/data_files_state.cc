#include "runtime/store/data_files/data_files_state.h"

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/iterator.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/utilities/debug.h>

#include <algorithm>
#include <cstdarg>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/files/remove_folder.h"

namespace actord::runtime {
namespace {

constexpr absl::string_view kDataFile = ".sst";
// Higher than the number of any version, so that a reader sees all versions.
constexpr uint64_t kLastVersion = uint64_t{1} << 55;
// Versions that a cursor reads ahead. Values can be large.
constexpr size_t kReadAhead = 32;
// rocksdb::ValueType, which is not public.
constexpr int kRemoved = 0;
constexpr int kValue = 1;
constexpr int kRemovedOnce = 7;

rocksdb::Slice BytesOf(std::string_view text) {
  return {text.data(), text.size()};
}

class NoLogFile final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::Options FileOptions() {
  rocksdb::Options of;
  // Each column family has a memory table, which stays empty.
  of.write_buffer_size = 64 << 10;
  of.disable_auto_compactions = true;
  of.info_log = std::make_shared<NoLogFile>();
  return of;
}

absl::Status Unreadable(const std::string& path, const std::string& why) {
  return absl::DataLossError(absl::StrCat("state store: ", path, ": ", why));
}

absl::Status NeverWritten() {
  return absl::InternalError("state store: its data files are only read");
}

}  // namespace

class DataFilesState::Cursor {
 public:
  Cursor(rocksdb::DB& db, const DataFile& file, std::string_view first,
         std::string_view last)
      : db_(db), file_(file), first_(first), last_(last) {
    Load();
  }

  // Null: there are no more versions, or status() is an error.
  [[nodiscard]] const rocksdb::KeyVersion* now() const {
    return at_ < versions_.size() ? &versions_[at_] : nullptr;
  }
  [[nodiscard]] absl::Status status() const {
    return at_ < versions_.size() ? absl::OkStatus() : status_;
  }
  // Moves behind all versions of this key.
  void Pass(const std::string& key) {
    while (at_ < versions_.size() && versions_[at_].user_key == key) ++at_;
    if (at_ < versions_.size() || has_all_) return;
    first_ = key + '\0';
    Load();
  }

 private:
  void Load() {
    versions_.clear();
    at_ = 0;
    const rocksdb::Status read = rocksdb::GetAllKeyVersions(
        &db_, file_.entries, first_, last_, kReadAhead, &versions_);
    has_all_ = !read.ok() || versions_.size() < kReadAhead;
    status_ =
        read.ok() ? absl::OkStatus() : Unreadable(file_.path, read.ToString());
    if (has_all_ && status_.ok()) status_ = CheckEnd();
    // The bound of GetAllKeyVersions is one of the keys.
    while (!versions_.empty() && versions_.back().user_key >= last_) {
      versions_.pop_back();
    }
  }
  // GetAllKeyVersions also ends, without an error, at a damaged block. An
  // iterator reports that block.
  [[nodiscard]] absl::Status CheckEnd() const {
    const std::string from =
        versions_.empty() ? first_ : versions_.back().user_key + '\0';
    if (from >= last_) return absl::OkStatus();
    const rocksdb::Slice bound = BytesOf(last_);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> rest(
        db_.NewIterator(options, file_.entries));
    rest->Seek(from);
    if (!rest->status().ok()) {
      return Unreadable(file_.path, rest->status().ToString());
    }
    return rest->Valid() ? Unreadable(file_.path, "a part cannot be read")
                         : absl::OkStatus();
  }

  rocksdb::DB& db_;
  const DataFile& file_;
  std::string first_;
  std::string last_;
  std::vector<rocksdb::KeyVersion> versions_;
  size_t at_ = 0;
  bool has_all_ = false;  // there is nothing behind `versions_`
  // The error behind `versions_`.
  absl::Status status_;
};

absl::StatusOr<std::unique_ptr<DataFilesState>> DataFilesState::Open(
    const Options& options, Lost lost) {
  std::unique_ptr<DataFilesState> state(new DataFilesState(options));
  const auto names = state->Names();
  if (!names.ok()) return names.status();
  absl::Status status = state->MakeDatabase();
  if (status.ok()) status = state->CheckRoom(*names);
  for (const std::string& name : *names) {
    if (!status.ok()) return status;
    status = state->Take(name);
    if (!absl::IsDataLoss(status)) continue;
    lost(absl::StrCat(options.directory, "/", name),
         std::string(status.message()));
    status = absl::OkStatus();
  }
  if (!status.ok()) return status;
  if (state->data_files_.empty()) {
    return Unreadable(options.directory, "no data file can be read");
  }
  return state;
}

absl::StatusOr<std::vector<std::string>> DataFilesState::Names() const {
  const auto all = options_.files->List(options_.directory);
  if (!all.ok()) return all.status();
  std::set<std::string> found;
  for (const std::string& name : *all) {
    const auto file = options_.files->Open(
        absl::StrCat(options_.directory, "/", name), OpenMode::kRead);
    if (absl::IsPermissionDenied(file.status())) return file.status();
    if (absl::EndsWith(name, kDataFile)) found.insert(name);
  }
  // Without these checks RocksDB reads the list although a file is damaged.
  rocksdb::Options lenient = FileOptions();
  lenient.paranoid_checks = false;
  rocksdb::DB* opened = nullptr;
  if (rocksdb::DB::OpenForReadOnly(lenient, options_.directory, &opened).ok()) {
    const std::unique_ptr<rocksdb::DB> db(opened);
    std::vector<rocksdb::LiveFileMetaData> live;
    db->GetLiveFilesMetaData(&live);
    std::vector<std::string> names;
    bool has_all = !live.empty();
    for (const rocksdb::LiveFileMetaData& file : live) {
      names.push_back(file.relative_filename);
      has_all = has_all && found.contains(names.back());
    }
    std::sort(names.begin(), names.end());
    // A list without its end names files that are no longer there. It lacks
    // the newer files.
    if (has_all) return names;
  }
  return std::vector<std::string>(found.begin(), found.end());
}

absl::Status DataFilesState::NoRoom(const std::string& why) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "there is no room for a temporary copy of the state store in ",
      options_.folder, ": ", why,
      ". The state store cannot be opened, so its data files are read one by "
      "one, from copies. Make room, or name a new directory on another file "
      "system"));
}

absl::Status DataFilesState::CheckRoom(
    const std::vector<std::string>& names) const {
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    const auto file = options_.files->Open(
        absl::StrCat(options_.directory, "/", name), OpenMode::kRead);
    if (file.ok()) bytes += (*file)->Size().value_or(0);
  }
  const auto space = options_.new_files->Space(options_.folder);
  if (!space.ok()) return space.status();
  if (space->available >= bytes) return absl::OkStatus();
  return NoRoom(absl::StrCat("it needs ", bytes, " bytes, and ",
                             space->available, " are free"));
}

absl::Status DataFilesState::MakeDatabase() {
  // Left over from an interrupted salvage.
  absl::Status status = RemoveFolder(options_.folder);
  if (status.ok()) status = options_.new_files->MakeDirectory(options_.folder);
  if (!status.ok()) return status;
  rocksdb::Options options = FileOptions();
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::Open(options, options_.folder, &db);
  if (opened.IsNoSpace()) return NoRoom(opened.ToString());
  if (!opened.ok()) {
    return absl::InternalError(absl::StrCat("cannot make a database in ",
                                            options_.folder, ": ",
                                            opened.ToString()));
  }
  db_.reset(db);
  return absl::OkStatus();
}

absl::Status DataFilesState::Take(const std::string& name) {
  const std::string path = absl::StrCat(options_.directory, "/", name);
  const auto file = options_.files->Open(path, OpenMode::kRead);
  const auto size = file.ok() ? (*file)->Size() : file.status();
  if (!size.ok()) return absl::DataLossError(size.status().message());
  rocksdb::LiveFileMetaData described;
  described.name = "/" + name;
  described.relative_filename = name;
  described.db_path = described.directory = options_.directory;
  described.size = *size;
  described.largest_seqno = kLastVersion;
  rocksdb::ExportImportFilesMetaData import;
  import.db_comparator_name = rocksdb::BytewiseComparator()->Name();
  import.files.push_back(described);
  DataFile taken{.path = path};
  // Copies the file.
  const rocksdb::Status status = db_->CreateColumnFamilyWithImport(
      FileOptions(), name, {}, import, &taken.entries);
  if (status.IsNoSpace()) return NoRoom(status.ToString());
  if (!status.ok()) return absl::DataLossError(status.ToString());
  rocksdb::ColumnFamilyMetaData made;
  db_->GetColumnFamilyMetaData(taken.entries, &made);
  for (const rocksdb::LevelMetaData& level : made.levels) {
    for (const rocksdb::SstFileMetaData& one : level.files) {
      taken.smallest = one.smallestkey;
      taken.largest = one.largestkey;
    }
  }
  data_files_.push_back(std::move(taken));
  return absl::OkStatus();
}

DataFilesState::DataFilesState(const Options& options) : options_(options) {}

DataFilesState::~DataFilesState() {
  // Somebody who wants to know the status calls Close.
  if (!is_closed_) static_cast<void>(Close());
}

absl::Status DataFilesState::Close() {
  is_closed_ = true;
  for (const DataFile& file : data_files_) {
    // It only fails for a handle of another database.
    db_->DestroyColumnFamilyHandle(file.entries).PermitUncheckedError();
  }
  data_files_.clear();
  db_.reset();
  return RemoveFolder(options_.folder);
}

absl::StatusOr<std::optional<std::string>> DataFilesState::Get(
    std::string_view key) {
  std::optional<std::string> found;
  const std::string behind = std::string(key) + '\0';
  absl::Status status =
      Scan(key, behind, [&](std::string_view /*key*/, std::string_view value) {
        found = std::string(value);
        return true;
      });
  if (!status.ok()) return status;
  return found;
}

absl::Status DataFilesState::Write(std::span<const StateWrite> /*writes*/) {
  return NeverWritten();
}
absl::Status DataFilesState::Flush() { return NeverWritten(); }

absl::Status DataFilesState::Scan(std::string_view first, std::string_view last,
                                  Use use) {
  std::vector<Cursor> cursors;
  for (const DataFile& file : data_files_) {
    if (file.largest < first || file.smallest >= last) continue;
    cursors.emplace_back(*db_, file, first, last);
  }
  for (;;) {
    const rocksdb::KeyVersion* next = nullptr;
    for (const Cursor& cursor : cursors) {
      // The next entry may be in the part that cannot be read.
      if (!cursor.status().ok()) return cursor.status();
      const rocksdb::KeyVersion* const one = cursor.now();
      if (one == nullptr) continue;
      if (next == nullptr || one->user_key < next->user_key ||
          (one->user_key == next->user_key &&
           one->sequence >= next->sequence)) {
        next = one;
      }
    }
    if (next == nullptr) return absl::OkStatus();
    const std::string key = next->user_key;
    if (next->type == kValue) {
      if (!use(key, next->value)) return absl::OkStatus();
    } else if (next->type != kRemoved && next->type != kRemovedOnce) {
      return Unreadable(options_.directory,
                        absl::StrCat("an entry of the kind ", next->type));
    }
    for (Cursor& cursor : cursors) cursor.Pass(key);
  }
}

}  // namespace actord::runtime
