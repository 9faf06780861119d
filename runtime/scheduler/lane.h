// A thread's resources for acting on processes: memory caches, counters, and
// the queue for the processes that it makes ready. Each thread that runs
// workers has a lane of its own, without locks. All other threads share one
// lane, with a short lock, or take a spare lane for a while (spare_lanes.h).
//
// Thread-safety: a thread's own lane belongs to that thread; any thread may use
// the shared lane.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/counters/counters.h"
#include "runtime/counters/turn_times.h"
#include "runtime/process/envelope.h"
#include "runtime/process/yield_record.h"
#include "runtime/scheduler/hold.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class Lane {
 public:
  enum class Use { kOneThread, kShared };

  Lane(BufferPool& pool, Use use)
      : is_shared_(use == Use::kShared), buffers_(pool) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // The queue of the worker that the thread holds; null: it holds none, as
  // always in the shared lane. Processes that become ready go to this queue, or
  // to the global queue if it is null.
  [[nodiscard]] WorkerQueue* here() const { return hold_.queue(); }
  // Not for the shared lane.
  Hold& hold() { return hold_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

  Envelope* NewEnvelope(uint16_t type, std::string_view topic,
                        const actord_payload& payload) {
    if (is_shared_) [[unlikely]] {
      return NewShared(type, topic, payload);
    }
    return Envelope::Create(buffers_, type, topic, payload);
  }
  void Free(Envelope* envelope) {
    if (is_shared_) [[unlikely]] {
      FreeShared(envelope);
    } else {
      Envelope::Destroy(buffers_, envelope);
    }
  }

  [[gnu::always_inline]] void Count(Counter Counters::*counter,
                                    uint64_t count = 1) {
    if (!is_shared_) [[likely]] {
      (counters_.*counter).Add(count);
    } else {
      (counters_.*counter).AddShared(count);
    }
  }

  // Calls `use` with the lane's memory and free processes. In the shared lane
  // the call holds the lock, so it must be short.
  template <typename Use>
  auto WithMemory(Use use) {
    if (!is_shared_) return use(buffers_, processes_);
    const MutexLock lock(mutex_);
    return use(buffers_, processes_);
  }

  // The handler that was looked up last, or null. Not for the shared lane.
  const CommandHandler* last_command = nullptr;
  // Null: no turn is measured.
  std::unique_ptr<TurnTimes> turn_times;

  // These three are not for the shared lane.
  BufferCache& buffers() { return buffers_; }
  ProcessTable::Cache& processes() { return processes_; }
  SlotTable<YieldRecord>::Cache& yields() { return yields_; }

 private:
  // Separate functions, so that a caller that needs no lock does not save the
  // registers that a call clobbers.
  [[gnu::noinline]] Envelope* NewShared(uint16_t type, std::string_view topic,
                                        const actord_payload& payload) {
    const MutexLock lock(mutex_);
    return Envelope::Create(buffers_, type, topic, payload);
  }
  [[gnu::noinline]] void FreeShared(Envelope* envelope) {
    const MutexLock lock(mutex_);
    Envelope::Destroy(buffers_, envelope);
  }

  const bool is_shared_;
  Hold hold_;
  Counters counters_;
  // Used only in the shared lane.
  Mutex mutex_;
  // In the shared lane guarded by mutex_; otherwise they belong to the thread.
  BufferCache buffers_;
  ProcessTable::Cache processes_;
  SlotTable<YieldRecord>::Cache yields_;
};

}  // namespace actord::runtime
