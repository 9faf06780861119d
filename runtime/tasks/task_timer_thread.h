// The thread that handles the timers of tasks and wakes remote workers, so that
// neither the scheduler's workers nor callers have to.
//
// Thread-safety: Start and Stop from one thread. Ownership: borrows the task
// table.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "runtime/system/thread.h"
#include "runtime/tasks/task_table.h"

namespace actord::runtime {

class TaskTimerThread {
 public:
  explicit TaskTimerThread(TaskTable& tasks) : tasks_(tasks) {}
  ~TaskTimerThread() { Stop(); }
  TaskTimerThread(const TaskTimerThread&) = delete;
  TaskTimerThread& operator=(const TaskTimerThread&) = delete;

  // INTERNAL: the system could not create a thread.
  absl::Status Start();
  // After Stop, no task timer is handled and no remote worker is woken.
  void Stop();

 private:
  TaskTable& tasks_;
  // Written by Stop, read by the thread. Relaxed: the alarm
  // (TaskTable::AwaitDue) orders it.
  std::atomic<bool> stop_{false};
  SystemThread thread_;
};

}  // namespace actord::runtime
