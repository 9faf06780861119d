// What a thread needs in order to act on processes: memory at hand, counters,
// and where to put what it makes ready. Each worker has a lane of its own,
// without locks; all other threads share one, with a short lock.
//
// Thread-safety: a worker's lane belongs to the worker; the shared lane may be
// used by any thread.
#pragma once

#include <string_view>

#include "runtime/counters.h"
#include "runtime/envelope.h"
#include "runtime/mutex.h"
#include "runtime/process_table.h"
#include "runtime/scheduler.h"
#include "runtime/yield_record.h"

namespace actord::runtime {

class Lane {
 public:
  // `here`: null for the shared lane.
  Lane(BufferPool& pool, WorkerQueue* here) : here_(here), buffers_(pool) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  [[nodiscard]] WorkerQueue* here() const { return here_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

  Envelope* NewEnvelope(uint32_t type, std::string_view topic,
                        const actord_payload& payload) {
    if (here_ != nullptr) {
      return Envelope::Create(buffers_, type, topic, payload);
    }
    const MutexLock lock(mutex_);
    return Envelope::Create(buffers_, type, topic, payload);
  }
  void Free(Envelope* envelope) {
    if (here_ != nullptr) {
      Envelope::Destroy(buffers_, envelope);
      return;
    }
    const MutexLock lock(mutex_);
    Envelope::Destroy(buffers_, envelope);
  }

  void Count(Counter Counters::*counter, uint64_t count = 1) {
    if (here_ != nullptr) {
      (counters_.*counter).Add(count);
    } else {
      (counters_.*counter).AddShared(count);
    }
  }

  Process* ReserveProcess(ProcessTable& table, const ProcessType* type,
                          uint16_t method, const Pid& parent,
                          uint64_t now_unix_ns) {
    if (here_ != nullptr) {
      return table.Reserve(processes_, type, method, parent, now_unix_ns);
    }
    const MutexLock lock(mutex_);
    return table.Reserve(processes_, type, method, parent, now_unix_ns);
  }

  // Workers only: the handler that was looked up last, or null.
  const CommandHandler* last_command = nullptr;

  // Workers only.
  BufferCache& buffers() { return buffers_; }
  ProcessTable::Cache& processes() { return processes_; }
  SlotTable<YieldRecord>::Cache& yields() { return yields_; }

 private:
  WorkerQueue* const here_;
  Counters counters_;
  Mutex mutex_;  // of the shared lane
  // Guarded by mutex_ in the shared lane, the worker's otherwise.
  BufferCache buffers_;
  ProcessTable::Cache processes_;
  SlotTable<YieldRecord>::Cache yields_;
};

}  // namespace actord::runtime
