// The common part of the start of the daemon and the return of a dormant
// process: makes a process in memory from a process in the store.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable/durable_store.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

// Fills in everything in the store about the process, except its mailbox. Takes
// the image. DATA_LOSS: the store is damaged. Precondition: no other thread
// knows of the process.
absl::Status FillProcess(Process& process, StoredProcess& stored,
                         DurableState& state, Lane& lane);

}  // namespace actord::runtime
