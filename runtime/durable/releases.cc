#include "runtime/durable/releases.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "runtime/system/assert.h"

namespace actord::runtime {

Releases::Releases(std::function<void(const absl::Status&)> failed)
    : failed_(std::move(failed)) {}

Releases::~Releases() { Stop(); }

void Releases::OnWait(std::function<void(uint64_t)> waits,
                      std::function<uint64_t(uint64_t)> commits) {
  waits_ = std::move(waits);
  commits_ = std::move(commits);
}

void Releases::After(uint64_t position, Release release) {
  if (!Keep(position, release, /*wakes=*/true)) {
    std::move(release)();
  } else if (waits_) {
    waits_(position);
  }
}

void Releases::AfterHere(uint64_t position, Release release) {
  if (!commits_) {
    After(position, std::move(release));
    return;
  }
  if (!Keep(position, release, /*wakes=*/false)) {
    std::move(release)();
    return;
  }
  const uint64_t durable = commits_(position);
  if (durable == 0) {
    // If the record has just become durable, Durable is called after Keep, and
    // wakes the release thread.
    if (waits_) waits_(position);
    return;
  }
  ACTORD_ASSERT(durable > position,
                "releases.h: a record that a caller has committed is durable");
  // It is locked if another thread releases, or a release of this thread has
  // led here.
  if (!releasing_.try_lock()) {
    Durable(durable);
    return;
  }
  {
    const MutexLock lock(mutex_);
    durable_ = std::max(durable_, durable);
  }
  ReleaseDurable();
  releasing_.unlock();
}

bool Releases::Keep(uint64_t position, Release& release, bool wakes) {
  const MutexLock lock(mutex_);
  if (is_over_) return position >= durable_;
  // Threads arrive here in another order than their positions only if they have
  // appended at the same moment.
  auto place = held_.end();
  while (place != held_.begin() && std::prev(place)->position > position) {
    --place;
  }
  held_.insert(place, Held{position, std::move(release)});
  if (wakes && held_.front().position < durable_) wake_.notify_one();
  return true;
}

void Releases::Start() {
  thread_ = SystemThread([this] { RunThread(); });
}

void Releases::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::deque<Held> rest;
  for (bool is_over = false; !is_over;) {
    while (Run()) {
    }
    const MutexLock lock(mutex_);
    // A release may have come since.
    if (!held_.empty() && held_.front().position < durable_) continue;
    is_over = is_over_ = true;
    rest.swap(held_);
  }
}

std::deque<Releases::Held> Releases::TakeDurable() {
  std::deque<Held> taken;
  const MutexLock lock(mutex_);
  while (!held_.empty() && held_.front().position < durable_) {
    taken.push_back(std::move(held_.front()));
    held_.pop_front();
  }
  return taken;
}

bool Releases::Run() {
  const MutexLock lock(releasing_);
  return ReleaseDurable();
}

bool Releases::ReleaseDurable() {
  std::deque<Held> taken = TakeDurable();
  for (Held& held : taken) std::move(held.release)();
  bool has_caught_up = false;
  {
    const MutexLock state(mutex_);
    has_caught_up = std::exchange(has_caught_up_, false);
  }
  if (has_caught_up && caught_up_) caught_up_();
  return has_caught_up || !taken.empty();
}

void Releases::RunThread() {
  pthread_setname_np(pthread_self(), "releases");
  for (;;) {
    while (Run()) {
    }
    const MutexLock lock(mutex_);
    while (!stopping_ && !has_caught_up_ &&
           (held_.empty() || held_.front().position >= durable_)) {
      wake_.wait(mutex_);
    }
    if (stopping_) return;
  }
}

void Releases::Durable(uint64_t lsn) {
  const MutexLock lock(mutex_);
  durable_ = std::max(durable_, lsn);
  if (!held_.empty() && held_.front().position < durable_) wake_.notify_one();
}

void Releases::OnCaughtUp(std::function<void()> caught_up) {
  const MutexLock lock(releasing_);
  caught_up_ = std::move(caught_up);
}

void Releases::CaughtUp() {
  const MutexLock lock(mutex_);
  has_caught_up_ = true;
  wake_.notify_one();
}

void Releases::Failed(const absl::Status& status) { failed_(status); }

}  // namespace actord::runtime
