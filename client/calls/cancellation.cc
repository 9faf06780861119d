#include "client/calls/cancellation.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace actord::client {
namespace {

int MakeEventFd() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    std::perror("eventfd");
    std::abort();
  }
  return fd;
}

}  // namespace

Cancellation::Cancellation() : event_fd_(MakeEventFd()) {}

Cancellation::~Cancellation() { close(event_fd_); }

void Cancellation::Cancel() {
  const MutexLock lock(mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  const uint64_t one = 1;
  // write() cannot fail: the counter is far below its limit, and the buffer is
  // valid.
  (void)!write(event_fd_, &one, sizeof(one));
  for (const auto& [id, callback] : callbacks_) callback();
}

bool Cancellation::cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

Cancellation::Registration::Registration(Cancellation* cancellation,
                                         std::function<void()> on_cancel)
    : cancellation_(cancellation) {
  if (cancellation_ == nullptr) return;
  const MutexLock lock(cancellation_->mutex_);
  if (cancellation_->cancelled_) {
    on_cancel();
    return;
  }
  id_ = ++cancellation_->last_id_;
  cancellation_->callbacks_.emplace(id_, std::move(on_cancel));
}

Cancellation::Registration::~Registration() {
  if (cancellation_ == nullptr) return;
  const MutexLock lock(cancellation_->mutex_);
  cancellation_->callbacks_.erase(id_);
}

}  // namespace actord::client
