#include "runtime/durable/parked_processes.h"

#include <utility>

namespace actord::runtime {

bool ParkedProcesses::Park(Process& process) {
  const MutexLock lock(mutex_);
  // The journal is no longer behind when EnqueueAll is called. So either this
  // thread sees that here, or EnqueueAll sees the process.
  if (!journal_.Behind()) return false;
  processes_.push_back(&process);
  return true;
}

void ParkedProcesses::EnqueueAll() {
  std::vector<Process*> parked;
  {
    const MutexLock lock(mutex_);
    parked.swap(processes_);
  }
  ReadyList ready;
  for (Process* const process : parked) {
    ready.Add(process);
    if (ready.count == ReadyList::kCapacity) scheduler_.EnqueueAll(ready);
  }
  scheduler_.EnqueueAll(ready);
}

size_t ParkedProcesses::count() const {
  const MutexLock lock(mutex_);
  return processes_.size();
}

}  // namespace actord::runtime
