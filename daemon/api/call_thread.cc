#include "daemon/api/call_thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {

absl::Status CallThread::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread of the JSON API: ", error.what()));
  }
}

void CallThread::Post(Work work) {
  {
    const absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    queue_.push_back(std::move(work));
  }
  parker_.Notify();
}

void CallThread::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  parker_.Notify();
  if (thread_.joinable()) thread_.join();
}

void CallThread::Run() {
  pthread_setname_np(pthread_self(), "json-api");
  for (;;) {
    Work work;
    bool stopped = false;
    {
      const absl::MutexLock lock(&mutex_);
      stopped = stopped_;
      if (!queue_.empty()) {
        work = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    if (work) {
      std::move(work)();
    } else if (stopped) {
      return;
    } else {
      parker_.Wait(runtime::Parker::kForever);
    }
  }
}

}  // namespace actord::daemon
