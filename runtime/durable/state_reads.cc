#include "runtime/durable/state_reads.h"

namespace actord::runtime {

absl::Status StateReads::Read(Use use) {
  Request request{use};
  {
    const MutexLock lock(mutex_);
    if (stopped_) return absl::UnavailableError("the store is closed");
    waiting_.push_back(&request);
  }
  ask_();
  const MutexLock lock(mutex_);
  while (!request.done) changed_.wait(mutex_);
  return request.status;
}

void StateReads::Serve(StateStore& state, uint64_t applied) {
  std::vector<Request*> requests;
  {
    const MutexLock lock(mutex_);
    requests.swap(waiting_);
  }
  for (Request* const request : requests) {
    request->status = request->use(state, applied);
  }
  const MutexLock lock(mutex_);
  for (Request* const request : requests) request->done = true;
  if (!requests.empty()) changed_.notify_all();
}

void StateReads::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (Request* const request : waiting_) {
    request->status = absl::UnavailableError("the store is closed");
    request->done = true;
  }
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace actord::runtime
