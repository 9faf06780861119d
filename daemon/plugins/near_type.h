// Names the process type that a client may have meant.
//
// Thread-safety: a pure function over the types in force.
#pragma once

#include "absl/status/status.h"
#include "runtime/process/catalog.h"

namespace actord::daemon {

// If `refusal` is an UNKNOWN_PROCESS_TYPE and the type resembles a type in
// force, the same error with the name of that type. Otherwise `refusal`.
absl::Status NameNearType(const absl::Status& refusal,
                          const runtime::Catalog& catalog);

}  // namespace actord::daemon
