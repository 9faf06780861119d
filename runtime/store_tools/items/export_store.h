// Takes the items out of a store that no daemon has. Nothing in it is changed.
//
// Thread-safety: pure functions of the store.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/process/pid.h"
#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/items/read_items.h"
#include "runtime/store_tools/store_report.h"

namespace actord::runtime {

struct ExportOptions {
  // Without its `use`; `is_thorough` as there.
  ExamineOptions store = {};
  // Only processes of this type, or with this PID, and no dead letters,
  // outcomes and ids. Empty: everything.
  std::string process_type = {};
  Pid pid = {};
};

// Calls `use` with each item of the store as the next start would have it, the
// StoreItem first. A damaged store gives no item: the report says what is
// wrong. Errors: those of ExamineStore, and those of `use`. NOT_FOUND also: no
// process has the PID.
absl::StatusOr<StoreReport> ExportStore(const ExportOptions& options,
                                        ItemReader::Use use);

class ClosedJournal;
// ItemReader::LoadBodies from a journal that no daemon has.
absl::Status LoadBodies(ItemReader& reader, const ClosedJournal& journal);

}  // namespace actord::runtime
