// What a thread needs in order to act on processes: memory at hand, counters,
// and where to put what it makes ready. Each thread that runs workers has a
// lane of its own, without locks; all other threads share one, with a short
// lock.
//
// Thread-safety: a thread's own lane belongs to that thread; the shared lane
// may be used by any.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <string_view>

#include "runtime/process/counters.h"
#include "runtime/process/envelope.h"
#include "runtime/process/process_table.h"
#include "runtime/process/yield_record.h"
#include "runtime/scheduler/hold.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Lane {
 public:
  enum class Use { kOneThread, kShared };

  Lane(BufferPool& pool, Use use)
      : is_shared_(use == Use::kShared), buffers_(pool) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // The worker that the thread holds; null: none, as in the shared lane. What
  // becomes ready goes there, or to the global queue.
  [[nodiscard]] WorkerQueue* here() const { return hold_.queue(); }
  // Not of the shared lane.
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

  // Calls `use` with the memory and the free processes at hand; under the lock
  // if the lane is shared, so not for long.
  template <typename Use>
  auto WithMemory(Use use) {
    if (!is_shared_) return use(buffers_, processes_);
    const MutexLock lock(mutex_);
    return use(buffers_, processes_);
  }

  // Not of the shared lane: the handler that was looked up last, or null.
  const CommandHandler* last_command = nullptr;

  // Not of the shared lane.
  BufferCache& buffers() { return buffers_; }
  ProcessTable::Cache& processes() { return processes_; }
  SlotTable<YieldRecord>::Cache& yields() { return yields_; }

 private:
  // Apart, so that whoever needs no lock does not save what a call clobbers.
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
  Mutex mutex_;  // of the shared lane
  // Guarded by mutex_ in the shared lane, the thread's otherwise.
  BufferCache buffers_;
  ProcessTable::Cache processes_;
  SlotTable<YieldRecord>::Cache yields_;
};

}  // namespace actord::runtime
