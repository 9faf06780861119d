// Examines a store that no daemon uses. Changes nothing in it.
//
// Thread-safety: pure functions of the store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/store/state_store.h"
#include "runtime/store_tools/store_report.h"

namespace actord::runtime {

class ClosedJournal;

struct ExamineOptions {
  std::string directory;
  // True: reads each byte that the next start would rely on, and each file of
  // the state store. False: reads only the data that it takes to count.
  bool is_thorough = true;

  FileSystem* files = &FileSystem::System();
  // Opens the state store; null: RocksDB in the folder `state`.
  std::function<absl::StatusOr<std::unique_ptr<StateStore>>()> open_state = {};
  // Called once at the end, while the store is locked, if nothing is damaged:
  // with the state that the next start would have, and the journal.
  // ExamineStore returns its error. Null: nothing is called.
  std::function<absl::Status(StateStore& state, const ClosedJournal& journal)>
      use = {};
};

// Damage is in the findings of the report; the report then lacks the parts that
// could not be read. Errors: NOT_FOUND: there is no store. FAILED_PRECONDITION:
// a program uses the store, or a newer version has written it. Others: the disk
// or its permissions.
absl::StatusOr<StoreReport> ExamineStore(const ExamineOptions& options);

}  // namespace actord::runtime
