// The thread of the JSON API: it reads requests, begins their calls and writes
// their answers. It never waits for a process. It may wait for the disk: to
// read dormant processes, and for room in the journal.
//
// Thread-safety: Post from any thread; Start and Stop are for one thread.
#pragma once

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class CallThread {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  CallThread() = default;
  ~CallThread() { Stop(); }
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // Runs `work` on the thread, after all that was posted before. After Stop,
  // `work` is dropped. The posters bound the queue: JsonApi has a limit of
  // calls, and a call posts a few times.
  void Post(Work work);
  // Runs what was posted before, and waits for it. Idempotent.
  void Stop();

 private:
  void Run();

  runtime::Parker parker_;
  absl::Mutex mutex_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace actord::daemon
