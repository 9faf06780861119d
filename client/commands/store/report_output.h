// Shows what a store holds.
//
// Thread-safety: pure functions.
#pragma once

#include "client/cli/invocation.h"
#include "client/output/json.h"
#include "runtime/store_tools/store_report.h"

namespace actord::client {

Json ToJson(const runtime::StoreReport& report);
// What the store holds, in the format for people.
void WriteReport(const Invocation& invocation,
                 const runtime::StoreReport& report);
// "actor-1: intact", and what is wrong.
void WriteVerdict(const Invocation& invocation,
                  const runtime::StoreReport& report);

}  // namespace actord::client
