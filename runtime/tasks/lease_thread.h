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

class LeaseThread {
 public:
  explicit LeaseThread(TaskTable& tasks) : tasks_(tasks) {}
  ~LeaseThread() { Stop(); }
  LeaseThread(const LeaseThread&) = delete;
  LeaseThread& operator=(const LeaseThread&) = delete;

  // INTERNAL: the system has no thread.
  absl::Status Start();
  // Nothing becomes due, and nobody is woken, any more.
  void Stop();

 private:
  TaskTable& tasks_;
  // Written by Stop, read by the thread. Relaxed: the alarm orders it.
  std::atomic<bool> stop_{false};
  SystemThread thread_;
};

}  // namespace actord::runtime
