#include "daemon/operations/backup_thread.h"

#include <pthread.h>

#include <utility>

#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status BackupThread::Begin(
    std::function<void(runtime::OpenedStore&)> run) {
  const absl::MutexLock lock(&mutex_);
  if (is_stopped_) {
    return runtime::Retryable(
        absl::StatusCode::kUnavailable, runtime::reason::kStopped,
        "the daemon ends, so no backup begins", absl::Seconds(1));
  }
  if (is_running_) {
    return runtime::Error(
        absl::StatusCode::kFailedPrecondition, runtime::reason::kBackupRunning,
        "a backup runs already: wait until it has ended, or end it");
  }
  // The last one has ended, or is about to.
  if (thread_.joinable()) thread_.join();
  is_running_ = true;
  thread_ = runtime::SystemThread([this, run = std::move(run)]() mutable {
    pthread_setname_np(pthread_self(), "backup");
    run(store_);
    run = nullptr;
    const absl::MutexLock ended(&mutex_);
    is_running_ = false;
  });
  return absl::OkStatus();
}

void BackupThread::Stop() {
  runtime::SystemThread last;
  {
    const absl::MutexLock lock(&mutex_);
    is_stopped_ = true;
    last = std::move(thread_);
  }
  if (last.joinable()) last.join();
}

}  // namespace actord::daemon
