#include "runtime/durable/state_reads.h"

#include <pthread.h>

#include <algorithm>

namespace actord::runtime {

void StateReads::Start(StateStore& state) {
  thread_ = SystemThread([this, &state] { RunLater(state); });
}

absl::Status StateReads::Read(uint64_t position, Use use) {
  Request request{position, use};
  {
    const MutexLock lock(mutex_);
    if (stopped_) return absl::UnavailableError("the store is closed");
    waiting_.push_back(&request);
  }
  ask_.now();
  const MutexLock lock(mutex_);
  while (!request.done) changed_.wait(mutex_);
  return request.status;
}

void StateReads::ReadLater(uint64_t position, Later use) {
  bool asks = false;
  {
    const MutexLock lock(mutex_);
    if (!stopped_) {
      later_.push_back({position, std::move(use)});
      use = nullptr;
      asks = position > caught_up_;
      if (!asks) later_changed_.notify_one();
    }
  }
  if (use) std::move(use)(nullptr);
  if (asks) ask_.soon();
}

void StateReads::Serve(StateStore& state, uint64_t applied,
                       uint64_t caught_up) {
  std::vector<Request*> requests;
  {
    const MutexLock lock(mutex_);
    // A request that came too late for this round has asked for another one.
    const auto late = std::partition(
        waiting_.begin(), waiting_.end(),
        [&](const Request* request) { return request->position <= caught_up; });
    requests.assign(waiting_.begin(), late);
    waiting_.erase(waiting_.begin(), late);
    caught_up_ = std::max(caught_up_, caught_up);
    if (!later_.empty()) later_changed_.notify_one();
  }
  for (Request* const request : requests) {
    request->status = request->use(state, applied);
  }
  const MutexLock lock(mutex_);
  for (Request* const request : requests) request->done = true;
  if (!requests.empty()) changed_.notify_all();
}

void StateReads::RunLater(StateStore& state) {
  pthread_setname_np(pthread_self(), "reads");
  for (;;) {
    Later use;
    {
      const MutexLock lock(mutex_);
      while (!stopped_ &&
             (later_.empty() || later_.front().position > caught_up_)) {
        later_changed_.wait(mutex_);
      }
      if (stopped_) return;
      use = std::move(later_.front().use);
      later_.pop_front();
    }
    std::move(use)(&state);
  }
}

void StateReads::Stop() {
  {
    const MutexLock lock(mutex_);
    StopWaiting();
  }
  if (thread_.joinable()) thread_.join();
  std::deque<Waiting> rest;
  {
    const MutexLock lock(mutex_);
    rest.swap(later_);
  }
  for (Waiting& read : rest) std::move(read.use)(nullptr);
}

void StateReads::StopWaiting() {
  stopped_ = true;
  for (Request* const request : waiting_) {
    request->status = absl::UnavailableError("the store is closed");
    request->done = true;
  }
  waiting_.clear();
  changed_.notify_all();
  later_changed_.notify_all();
}

}  // namespace actord::runtime
