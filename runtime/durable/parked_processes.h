// Durable processes whose turn came while the journal was behind. They stay
// ready, but no worker holds them, so no worker waits for the disk. When the
// journal has caught up, they are enqueued again, in the order in which they
// were parked.
//
// Thread-safety: any thread. Lifetime: ends after the threads of the store.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "runtime/journal/journal.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class ParkedProcesses {
 public:
  // Both are borrowed.
  ParkedProcesses(const Journal& journal, Scheduler& scheduler)
      : journal_(journal), scheduler_(scheduler) {}
  ParkedProcesses(const ParkedProcesses&) = delete;
  ParkedProcesses& operator=(const ParkedProcesses&) = delete;

  // Parks the process if the journal is behind. From then on the caller must
  // not touch it: another thread may run it. False: the journal is not behind.
  bool Park(Process& process);
  // Enqueues all parked processes. To be called after each
  // JournalEvents::CaughtUp.
  void EnqueueAll();

  [[nodiscard]] size_t count() const;

 private:
  const Journal& journal_;
  Scheduler& scheduler_;
  mutable Mutex mutex_;
  std::vector<Process*> processes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
