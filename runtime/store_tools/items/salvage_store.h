// Makes a new store from the intact parts of a damaged store. Only reads the
// damaged store.
//
//   journal      its records up to the first group that is damaged or missing.
//                Later groups may be intact, but they rest on that group.
//   state store  if it is whole, the records are applied to it. If a part is
//                lost and the journal still has its first record, the records
//                are applied to an empty state. Otherwise the readable entries
//                are taken as they are, and no records are applied to them. If
//                RocksDB cannot open the store, its data files are read one by
//                one (runtime/store/data_files), from copies in NEW.reading.
//   a process    with its image, or its whole history. An event whose content
//                is lost is left out.
//
// Thread-safety: pure functions of the directories.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/store/state_store.h"

namespace actord::runtime {

struct SalvageOptions {
  std::string directory;
  // It must not exist, or be empty.
  std::string new_directory;
  FileSystem* files = &FileSystem::System();
  // The file system in which the new store is made.
  FileSystem* new_files = &FileSystem::System();
  // Opens the state store; null: RocksDB in the folder `state`.
  std::function<absl::StatusOr<std::unique_ptr<StateStore>>()> open_state = {};
};

struct SalvageReport {
  uint64_t processes = 0;
  uint64_t events = 0;  // in mailboxes
  uint64_t dead_letters = 0;
  uint64_t outcomes = 0;
  uint64_t ids = 0;
  // The records before this position are in the new store.
  uint64_t position = 0;
  // The losses, with positions and processes.
  std::vector<std::string> lost;
  // Losses that are not listed, because there are too many.
  uint64_t more_lost = 0;

  void Lose(std::string what) {
    constexpr size_t kMost = 1000;
    if (lost.size() < kMost) {
      lost.push_back(std::move(what));
    } else {
      ++more_lost;
    }
  }
};

// DATA_LOSS: nothing can be taken, and why. ALREADY_EXISTS: new_directory is
// not empty. RESOURCE_EXHAUSTED: there is no room for the copies. Others: as
// ExamineStore.
absl::StatusOr<SalvageReport> SalvageStore(const SalvageOptions& options);

}  // namespace actord::runtime
