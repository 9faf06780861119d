// What a state store holds, as ExpectedState::Text says it.
#pragma once

#include <string>
#include <vector>

#include "runtime/store/record_source.h"
#include "runtime/store/state_store.h"

namespace actord::runtime {

// A line that begins with "damaged" or "LOST" is not in any expected state: a
// value that cannot be read, a body that neither store nor journal holds, or an
// index that leads nowhere.
std::vector<std::string> TextOf(StateStore& store, RecordSource& source);

}  // namespace actord::runtime
