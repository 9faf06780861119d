#include "runtime/tasks/task_timer_thread.h"

#include <pthread.h>

#include <system_error>

#include "absl/strings/str_cat.h"

namespace actord::runtime {

absl::Status TaskTimerThread::Start() {
  try {
    thread_ = SystemThread([this] {
      pthread_setname_np(pthread_self(), "work");
      while (!stop_.load(std::memory_order_relaxed)) {
        tasks_.AwaitDue(tasks_.HandleDue());
      }
    });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread for the timers of tasks: ", error.what()));
  }
}

void TaskTimerThread::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  tasks_.StopAwaiting();
  if (thread_.joinable()) thread_.join();
}

}  // namespace actord::runtime
