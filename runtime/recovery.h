// The common part of the start of the daemon and the return of a dormant
// process: makes a process in memory from a process in the store.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable/durable_store.h"
#include "runtime/process/catalog.h"
#include "runtime/process/owner_limits.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

// Fills the process from the store, except its mailbox. Takes the image out of
// `stored`. DATA_LOSS: the store is damaged. Precondition: the process is not
// live yet, so no other thread uses it.
absl::Status FillProcess(Process& process, StoredProcess& stored,
                         DurableState& state, Lane& lane);

// Puts the stored events for the process into its mailbox. `bytes_of`: the
// bytes that each owner has in mailboxes. Precondition: the process is not live
// yet, so no other thread uses it.
void FillMailbox(Process& process, const StoredProcess& stored,
                 OwnerLimits& bytes_of, Lane& lane);

// Whether the state was written by a plugin file that is not in force. The
// version of that file must then be in the catalog before the process comes
// back.
bool NeedsFormer(const Catalog& catalog, const ProcessEntry& entry);

// The type as which a stored process comes back.
struct FoundType {
  const ProcessType* type = nullptr;  // null: no type of the name is in force
  absl::Status fits;  // not OK: the process belongs into quarantine
};
FoundType FindTypeOf(const Catalog& catalog, const ProcessEntry& entry);

}  // namespace actord::runtime
