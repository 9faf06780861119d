// The bodies in a record, by their numbers (runtime/records/position.h).
//
// Thread-safety: pure functions; `buffers` belongs to the caller.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/records/records.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

// DATA_LOSS: the record has no such body.
absl::StatusOr<StoredBody> BodyIn(const records::Any& record, uint64_t index,
                                  BufferCache& buffers);

}  // namespace actord::runtime
