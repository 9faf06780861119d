// The thread that minds the times of tasks and wakes remote workers, so that
// neither a worker of the scheduler nor a caller has to.
//
// Thread-safety: Start and Stop from one thread. Ownership: borrows the yields.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "runtime/system/thread.h"
#include "runtime/tasks/task_table.h"

namespace actord::runtime {

class WorkThread {
 public:
  explicit WorkThread(ExternalYields& external) : external_(external) {}
  ~WorkThread() { Stop(); }
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  // INTERNAL: the system has no thread.
  absl::Status Start();
  // Nothing becomes due, and nobody is woken, any more.
  void Stop();

 private:
  ExternalYields& external_;
  // Written by Stop, read by the thread. Relaxed: the alarm orders it.
  std::atomic<bool> stop_{false};
  SystemThread thread_;
};

}  // namespace actord::runtime
