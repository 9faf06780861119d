#include "client/cli/alarm.h"

#include "absl/time/clock.h"

namespace actord::client {

Alarm::Alarm(Cancellation& interrupt, absl::Time deadline, Cancellation& stop)
    : registration_(&interrupt, [&stop] { stop.Cancel(); }),
      deadline_(deadline) {
  if (deadline_ == absl::InfiniteFuture()) return;
  thread_ = std::thread([this, &stop] {
    const MutexLock lock(mutex_);
    while (!over_ && absl::Now() < deadline_) {
      changed_.wait_for(mutex_,
                        absl::ToChronoNanoseconds(deadline_ - absl::Now()));
    }
    if (over_) return;
    rang_ = true;
    stop.Cancel();
  });
}

Alarm::~Alarm() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool Alarm::rang() {
  const MutexLock lock(mutex_);
  return rang_;
}

}  // namespace actord::client
