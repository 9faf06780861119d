// Reads of the state store while it is open.
#include "runtime/durable/opened_store.h"

namespace actord::runtime {

void OpenedStore::AskForRead() {
  const MutexLock lock(mutex_);
  is_read_ = true;
  wake_.notify_all();
}

absl::Status OpenedStore::ReadState(StateReads::Use use) {
  if (options_.journal.threads) return reads_.Read(use);
  absl::Status status = rounds_->CatchUp();
  return status.ok() ? use(*state_, applier_->applied()) : status;
}

}  // namespace actord::runtime
