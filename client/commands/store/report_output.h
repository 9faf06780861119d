// Shows the contents of a store.
//
// Thread-safety: pure functions.
#pragma once

#include "client/cli/invocation.h"
#include "client/output/json.h"
#include "runtime/store_tools/store_report.h"

namespace actord::client {

Json ToJson(const runtime::StoreReport& report);
// Writes the contents of the store, in the format for people.
void WriteReport(const Invocation& invocation,
                 const runtime::StoreReport& report);
// Writes "actor-1: intact", or the damage.
void WriteVerdict(const Invocation& invocation,
                  const runtime::StoreReport& report);

}  // namespace actord::client
