#include "runtime/tasks/lease_thread.h"

#include <pthread.h>

namespace actord::runtime {

void WorkThread::Start() {
  thread_ = SystemThread([this] {
    pthread_setname_np(pthread_self(), "work");
    while (!stop_.load(std::memory_order_relaxed)) {
      external_.AwaitWork(external_.Look());
    }
  });
}

void WorkThread::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  external_.StopAwaiting();
  if (thread_.joinable()) thread_.join();
}

}  // namespace actord::runtime
