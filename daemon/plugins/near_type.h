// Names the process type or the method that a client may have meant.
//
// Thread-safety: a pure function over the types in force.
#pragma once

#include "absl/status/status.h"
#include "runtime/process/catalog.h"

namespace actord::daemon {

// If `refusal` is an UNKNOWN_PROCESS_TYPE or an UNKNOWN_METHOD, the same error
// with the type in force or the method of the type that the name resembles, or
// with a list of them, ten at most. Otherwise `refusal`.
absl::Status NameNearest(const absl::Status& refusal,
                         const runtime::Catalog& catalog);

}  // namespace actord::daemon
