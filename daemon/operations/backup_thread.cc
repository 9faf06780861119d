#include "daemon/operations/backup_thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
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
  // The last backup has ended, or is about to end.
  if (thread_.joinable()) thread_.join();
  try {
    thread_ = runtime::SystemThread([this, run = std::move(run)]() mutable {
      pthread_setname_np(pthread_self(), "backup");
      run(store_);
      run = nullptr;
      const absl::MutexLock ended(&mutex_);
      is_running_ = false;
    });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread for a backup: ", error.what()));
  }
  // The thread cannot have ended: it needs the lock.
  is_running_ = true;
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
