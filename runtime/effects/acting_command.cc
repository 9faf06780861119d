#include "runtime/effects/acting_command.h"

#include "runtime/system/assert.h"

namespace actord::runtime {

bool ActingCommand::Commit(records::Done change) {
  ACTORD_ASSERT(done_at_ == 0, "acting_command.h: a command changes one thing");
  change.pid = yield_.pid;
  change.tag = yield_.tag;
  const absl::StatusOr<uint64_t> position = durable_.Append(change);
  if (!position.ok()) return false;
  done_at_ = *position;
  return true;
}

}  // namespace actord::runtime
