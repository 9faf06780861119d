// What the start of the daemon and the return of a dormant process share: how a
// process in the store becomes one in memory.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable/durable_store.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

// What the store says of the process, besides its mailbox. Takes the image.
// DATA_LOSS: the store is damaged. Precondition: the process is not live yet,
// so no other thread uses it.
absl::Status FillProcess(Process& process, StoredProcess& stored,
                         DurableState& state, Lane& lane);

}  // namespace actord::runtime
