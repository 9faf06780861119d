// The thread that reads the store for a backup: gRPC's threads must not wait
// for the disk.
//
// Thread-safety: Begin from any thread, Stop from one. Lifetime: ends before
// the store.
#pragma once

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/durable/opened_store.h"
#include "runtime/system/thread.h"

namespace actord::daemon {

class BackupThread {
 public:
  explicit BackupThread(runtime::OpenedStore& store) : store_(store) {}
  ~BackupThread() { Stop(); }
  BackupThread(const BackupThread&) = delete;
  BackupThread& operator=(const BackupThread&) = delete;

  // Calls `run` on the thread. BACKUP_RUNNING: a backup runs already.
  absl::Status Begin(std::function<void(runtime::OpenedStore&)> run);
  // Waits for the backup that runs, whose stream must have ended, and refuses
  // every later one.
  void Stop();

 private:
  runtime::OpenedStore& store_;
  absl::Mutex mutex_;
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  runtime::SystemThread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
