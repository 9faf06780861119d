// Reads the items of a store that no daemon uses. Changes nothing in it.
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
  // `use` must be empty; `is_thorough` has the same meaning as there.
  ExamineOptions store = {};
  // Only processes of this type, or with this PID, and no dead letters,
  // outcomes and ids. Empty: everything.
  std::string process_type = {};
  Pid pid = {};
};

// Calls `use` with each item that the next start would have, the StoreItem
// first. For a damaged store `use` is not called, and the report has the
// damage. Errors: the errors of ExamineStore and of `use`. NOT_FOUND also: no
// process has the PID.
absl::StatusOr<StoreReport> ExportStore(const ExportOptions& options,
                                        ItemReader::Use use);

class ClosedJournal;
// ItemReader::LoadBodies from a journal that no daemon uses.
absl::Status LoadBodies(ItemReader& reader, const ClosedJournal& journal);

}  // namespace actord::runtime
