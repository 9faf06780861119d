// Ends processes that have lived as long as they may (Limits::max_lifetime), by
// a timer in the wheel of the worker on which they began.
//
// The timers are apart from the processes, which stay small where there is no
// such limit: a table of them grows with the slots of the processes that have
// one.
//
// Thread-safety: Begin and End belong to the turn of the process; Fired: any
// thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/lane.h"
#include "runtime/process_table.h"
#include "runtime/scheduler.h"

namespace actord::runtime {

class Lifetimes {
 public:
  Lifetimes(const ProcessTable& processes, Scheduler& scheduler,
            const Clock& clock)
      : processes_(processes), scheduler_(scheduler), clock_(clock) {}
  ~Lifetimes();
  Lifetimes(const Lifetimes&) = delete;
  Lifetimes& operator=(const Lifetimes&) = delete;

  // Its life is limited to `lifetime_ns` from now on.
  void Begin(const Process& process, uint32_t generation, uint64_t lifetime_ns,
             Lane& lane);
  // It has ended.
  void End(const Process& process) {
    const uint32_t slot = process.slot.load(std::memory_order_relaxed);
    // Relaxed: whoever began it, and stored this, handed the process on.
    if (chunks_[slot / kChunkSlots].load(std::memory_order_relaxed) != nullptr)
        [[unlikely]] {
      Cancel(slot);
    }
  }

  // Whether what a wheel has handed out is for Fired. The broker's timers carry
  // handles, whose slots lie below this bit.
  static bool IsOne(uint64_t value) { return (value & kLifetime) != 0; }
  // Returns the process that the caller has to enqueue, or null.
  [[nodiscard]] Process* Fired(uint64_t value, Lane& lane);

 private:
  static constexpr uint64_t kLifetime = uint64_t{1} << 31;
  static_assert(SlotTable<Process>::kMaxSlots <= kLifetime);
  static constexpr size_t kChunkSlots = 1 << 16;

  // Of the slot's process, in its turn.
  struct Entry {
    TimerWheel* wheel = nullptr;  // in which the timer is; null: in none
    TimerWheel::Timer timer;
  };
  using Chunk = std::array<Entry, kChunkSlots>;

  // Makes its chunk if need be.
  Entry& At(uint32_t slot);
  void Cancel(uint32_t slot);

  const ProcessTable& processes_;
  Scheduler& scheduler_;
  const Clock& clock_;
  // Null: none of its slots has had a limited life. Each is stored once, with
  // release; acquire reads it where another thread may have made it.
  std::array<std::atomic<Chunk*>, SlotTable<Process>::kMaxSlots / kChunkSlots>
      chunks_{};
};

}  // namespace actord::runtime
