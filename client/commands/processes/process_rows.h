// The rows and columns of "actorctl ps".
//
// Thread-safety: pure functions.
#pragma once

#include <vector>

#include "actord/v1/process.pb.h"
#include "client/output/output.h"

namespace actord::client {

// A live process. Borrows it.
Item ProcessItem(const v1::Process& process);
std::vector<Column> LiveColumns();

// An ended process. Borrows it.
Item EndedItem(const v1::Process& process);
std::vector<Column> EndedColumns();

}  // namespace actord::client
