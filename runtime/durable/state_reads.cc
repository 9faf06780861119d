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

void StateReads::ReadLater(Later use) {
  {
    const MutexLock lock(mutex_);
    if (!stopped_) {
      later_.push_back(std::move(use));
      use = nullptr;
    }
  }
  if (use) {
    std::move(use)(nullptr);
  } else {
    ask_();
  }
}

void StateReads::Serve(StateStore& state, uint64_t applied) {
  std::vector<Request*> requests;
  std::vector<Later> later;
  {
    const MutexLock lock(mutex_);
    requests.swap(waiting_);
    later.swap(later_);
  }
  for (Later& use : later) std::move(use)(&state);
  for (Request* const request : requests) {
    request->status = request->use(state, applied);
  }
  const MutexLock lock(mutex_);
  for (Request* const request : requests) request->done = true;
  if (!requests.empty()) changed_.notify_all();
}

void StateReads::Stop() {
  std::vector<Later> later;
  {
    const MutexLock lock(mutex_);
    StopWaiting();
    later.swap(later_);
  }
  for (Later& use : later) std::move(use)(nullptr);
}

void StateReads::StopWaiting() {
  stopped_ = true;
  for (Request* const request : waiting_) {
    request->status = absl::UnavailableError("the store is closed");
    request->done = true;
  }
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace actord::runtime
