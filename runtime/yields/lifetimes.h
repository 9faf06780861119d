// Ends processes that have lived as long as they may (Limits::max_lifetime), by
// a timer in the wheel of the worker on which they began; and terminates
// processes that did not end within the deadline of a cancel. The timer of a
// process that ends before is forgotten, or refused when it fires.
//
// Thread-safety: Begin belongs to the turn of the process; all else: any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "runtime/inbox/delivery.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"
#include "runtime/yields/timer_kind.h"

namespace actord::runtime {

class Lifetimes {
 public:
  Lifetimes(const ProcessTable& processes, Scheduler& scheduler,
            Delivery& delivery, const Clock& clock)
      : processes_(processes),
        scheduler_(scheduler),
        delivery_(delivery),
        clock_(clock) {}
  Lifetimes(const Lifetimes&) = delete;
  Lifetimes& operator=(const Lifetimes&) = delete;

  // Its life is limited to `lifetime_ns` from now on.
  void Begin(const Process& process, uint32_t generation, uint64_t lifetime_ns,
             Lane& lane);
  // The process is terminated when `deadline` has passed, unless it has ended.
  // An earlier deadline that was set before stays in force. Above zero; rounded
  // up to milliseconds.
  void BeginCancel(const Pid& pid, absl::Duration deadline);
  // The process of a timer (TimerKind::kLifetime, kCancelDeadline) has not
  // ended.
  [[nodiscard]] bool IsWanted(uint64_t handle) const {
    // Relaxed: the wheel's lock orders it behind Begin; an end may be seen
    // late, and whoever then sends it an event hits nobody else's generation.
    return ProcessOf(handle).generation.load(std::memory_order_relaxed) ==
           static_cast<uint32_t>(handle >> 32);
  }
  // Such a timer is due. What becomes runnable goes into `ready`, which has
  // room for it.
  void LifetimeDue(uint64_t handle, Lane& lane, ReadyList& ready);
  void CancelDeadlineDue(uint64_t handle, Lane& lane, ReadyList& ready);

 private:
  // The deadline of the cancels of a process.
  struct CancelDeadline {
    uint32_t generation = 0;
    // It has passed, and the process was told to end: once, however many
    // cancels follow, so that Activity can count what waits.
    bool is_over = false;
    uint64_t at_ns = UINT64_MAX;
    int64_t after_ms = 0;  // what the cancel said
  };

  static_assert(SlotTable<Process>::kMaxSlots <= kTimerMaxSlots);
  [[nodiscard]] Process& ProcessOf(uint64_t handle) const {
    return processes_.At(static_cast<uint32_t>(handle));
  }
  void Post(uint64_t handle, uint16_t type, std::string_view text, Lane& lane,
            ReadyList& ready);

  const ProcessTable& processes_;
  Scheduler& scheduler_;
  Delivery& delivery_;
  const Clock& clock_;

  Mutex mutex_;
  // By slot. The deadline of a process that has ended stays until the slot's
  // next one, so there are at most as many as slots.
  absl::flat_hash_map<uint32_t, CancelDeadline> cancels_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
