// A copy of an open store, taken while it is used: the state store's files as
// hard links in a directory of the store, and the journal from its first record
// up to a durable position. Both together are a store that can be opened.
//
//   1. Trimming is held, so no record is given up between 2 and 4.
//   2. The oldest segment is noted.
//   3. The state store is copied. It stands for records that are durable.
//   4. The end is the durable position now, which is behind all that was
//      acknowledged before the backup began, and behind what the copy stands
//      for.
//   5. The segments are held, so their files are not used again while they are
//      read. Trimming goes on.
//
// While the copy is read, the store keeps the room of these files.
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
  // Where the copy of the state store is meanwhile, below the directory of the
  // store.
  static constexpr std::string_view kFolder = "/backup";

  // Removes what a backup that was interrupted by a crash has left in a store.
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
    uint64_t bytes = 0;  // that Read gives
    uint64_t size = 0;   // of the whole file: zeros follow behind the bytes
  };
  // In the order in which a copy should be written: META comes last.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Everything before this position is in the copy.
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
  // The place behind the last intact group of the segment that is before the
  // position of the backup. `link`: what its first group continues, and then
  // what the next group does.
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
