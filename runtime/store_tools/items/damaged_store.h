// The journal and the state store of a damaged store, and the state that can be
// made from both. salvage_store.h says which parts that are.
//
// Thread-safety: one thread at a time. Lifetime: ends before the options, the
// file system and the report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/files/file_system.h"
#include "runtime/store/data_files/data_files_state.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"
#include "runtime/store_tools/items/readable_journal.h"
#include "runtime/store_tools/items/salvage_store.h"
#include "runtime/store_tools/overlay_state.h"

namespace actord::runtime {

// The text of an error without the advice at its end: "run store verify" and
// "restore a backup" do not help somebody who salvages.
std::string WithoutAdvice(absl::string_view text);

class DamagedStore {
 public:
  // `files` only reads. `report` gets the losses.
  DamagedStore(const SalvageOptions& options, FileSystem& files,
               SalvageReport& report)
      : options_(options), files_(files), report_(report) {}

  // Comes first. NOT_FOUND: there is no store.
  absl::Status OpenJournal();
  // Makes state(). DATA_LOSS: there is nothing to begin with.
  absl::Status OpenState();
  // Removes the temporary files; state() ends.
  void Close();

  // Null: it cannot be read.
  [[nodiscard]] ReadableJournal* journal() {
    return journal_ ? &*journal_ : nullptr;
  }
  [[nodiscard]] StateStore& state() { return *overlay_; }
  // Whether entries that were removed or changed can be back in the state.
  [[nodiscard]] bool may_have_old_entries() const {
    return data_files_ != nullptr;
  }
  // The records before it are in the state.
  [[nodiscard]] uint64_t position() const { return position_; }
  // The error if there is no state to begin with.
  [[nodiscard]] absl::Status NothingToTake(absl::string_view why) const;

 private:
  absl::Status OpenStateStore();
  // RocksDB cannot open the state store: reads its data files.
  absl::Status OpenDataFiles(const std::string& directory);
  // Whether every entry can be read.
  bool IsWhole();
  // Whether the records of the journal make the state from the beginning.
  [[nodiscard]] bool HasAllRecords() const;
  // Chooses the state with which the new store begins; makes overlay_.
  absl::Status Combine();
  // Applies the records from `from` on to the overlay.
  void Apply(uint64_t from);
  // The entry about the whole store. If it is lost and the state comes from
  // data files, it is made from the journal.
  absl::StatusOr<StoreMeta> Meta();
  absl::StatusOr<StoreMeta> MetaOfJournal();
  // Reports the records that the damage of the journal has taken.
  void LoseRecords();

  const SalvageOptions& options_;
  FileSystem& files_;
  SalvageReport& report_;
  // The first damage of the journal: file and offset; "": none.
  std::string first_damage_;
  // Why RocksDB cannot open the state store; "": it can.
  std::string state_damage_;
  std::optional<ReadableJournal> journal_;
  std::unique_ptr<StateStore> state_;  // null: it cannot be read
  // `state_`, if its data files are read one by one.
  DataFilesState* data_files_ = nullptr;
  std::optional<OverlayState> overlay_;
  uint64_t position_ = 0;
};

}  // namespace actord::runtime
