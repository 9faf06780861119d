// A copy of an open store, taken while it is used: the state store's files as
// hard links in a directory of the store, and the journal from its first record
// up to a durable position. Together they are a store that can be opened.
//
//   1. Trimming is held, so no record is given up between 2 and 4.
//   2. The oldest segment is noted.
//   3. The state store is copied. All records behind its contents are durable.
//   4. The end of the backup is the durable position at this moment. It is
//      behind all records that were acknowledged before the backup began, and
//      behind all records in the copy.
//   5. The segments are held, so their files are not used again while they are
//      read. Trimming continues.
//
// While the copy is read, the store keeps these files.
//
// Thread-safety: one thread at a time, beside everything else of the store.
// Lifetime: ends before the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/journal/journal.h"
#include "runtime/journal/segment.h"
#include "runtime/store/state_store.h"

namespace actord::runtime {

class StoreBackup {
 public:
  // The folder of the copy of the state store, below the directory of the
  // store.
  static constexpr std::string_view kFolder = "/backup";

  // Removes the files that a backup has left in a store when a crash
  // interrupted it.
  static absl::Status RemoveLeftovers(const std::string& directory);

  struct Parts {
    Journal& journal;
    StateStore& state;
    const std::string& directory;  // of the store
    FileSystem& files;
  };
  // DATA_LOSS: the journal is damaged. Others: as the journal and the state
  // store.
  static absl::StatusOr<std::unique_ptr<StoreBackup>> Begin(const Parts& parts);
  // Removes the copy of the state store.
  ~StoreBackup();
  StoreBackup(const StoreBackup&) = delete;
  StoreBackup& operator=(const StoreBackup&) = delete;

  struct Entry {
    std::string name;    // below the directory of the store
    uint64_t bytes = 0;  // available from Read
    uint64_t size = 0;   // of the whole file: zeros after the bytes
  };
  // In the order in which a copy must be written: META comes last.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // All records before this position are in the copy.
  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] uint64_t incarnation() const { return incarnation_; }

  // At most `bytes` bytes of entry number `index`, from `offset` on; fewer at
  // its end.
  absl::StatusOr<std::string> Read(size_t index, uint64_t offset,
                                   uint64_t bytes);

 private:
  explicit StoreBackup(const Parts& parts) : parts_(parts) {}

  absl::Status Copy();
  absl::Status TakeJournal(
      const std::vector<std::shared_ptr<const Segment>>& segments);
  // The place after the last intact group of the segment before the position of
  // the backup. `link`: the link that its first group continues, and afterwards
  // the link for the next group.
  absl::StatusOr<uint64_t> EndOfGroups(const Segment& segment, Link& link);
  absl::Status TakeFolder(const std::string& from, const std::string& to,
                          std::string_view suffix);
  void TakeText(std::string name, std::string text, uint64_t size);

  struct Source {
    std::shared_ptr<const Segment> segment;
    std::string path;
    std::string text;
  };

  const Parts parts_;
  uint64_t position_ = 0;
  uint64_t incarnation_ = 0;
  std::vector<Entry> entries_;
  std::vector<Source> sources_;  // of the entries
  // The file of a path that was read last.
  size_t open_index_ = SIZE_MAX;
  std::unique_ptr<File> open_file_;
};

}  // namespace actord::runtime
