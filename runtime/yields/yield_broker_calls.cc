// The records of calls between processes, which tell who waits for whom.
#include <algorithm>

#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

actord_completion YieldBroker::OpenCall(Process& process, uint32_t generation,
                                        uint64_t tag, const Pid& callee,
                                        uint64_t timeout_ns, Lane& lane,
                                        uint64_t age_ns) {
  const uint32_t slot =
      Prepare(process, generation, tag, YieldRecord::Kind::kCall, lane);
  if (slot == kNoYieldSlot) return 0;
  YieldRecord& record = records_.At(slot);
  record.callee.Store(callee);
  const auto now_ns =
      static_cast<int64_t>(scheduler_.clock().CoarseMonotonicNs());
  // The deadline counts from the beginning of the call.
  const uint64_t whole_ns = timeout_ns == 0 ? 0 : timeout_ns + age_ns;
  record.call_times.store(
      CallTimes::Of(now_ns - static_cast<int64_t>(age_ns), whole_ns).bits(),
      std::memory_order_release);
  const actord_completion handle = MakePending(slot);
  if (timeout_ns != 0) SetTimeout(handle, timeout_ns);
  return handle;
}

uint32_t YieldBroker::ForEachCall(
    uint32_t first, uint32_t max_slots,
    absl::FunctionRef<bool(const OpenedCall&)> use) const {
  const uint32_t slots = records_.SlotsInUse();
  const uint32_t end = std::min(slots, first + std::min(max_slots, slots));
  for (uint32_t slot = first; slot < end; ++slot) {
    const YieldRecord& record = records_.At(slot);
    // Acquire, as the loads of AtomicPid: the values belong to one call if the
    // word is the same before and after (OwnerOf).
    const uint64_t word = record.word.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(word) != YieldRecord::kPending ||
        record.kind.load(std::memory_order_acquire) !=
            YieldRecord::Kind::kCall) {
      continue;
    }
    const Process* const process =
        record.process.load(std::memory_order_acquire);
    const uint32_t generation =
        record.process_generation.load(std::memory_order_acquire);
    const Pid callee = record.callee.Load();
    const CallTimes times(record.call_times.load(std::memory_order_acquire));
    if (record.word.load(std::memory_order_relaxed) != word) continue;
    if (!use({processes_.PidOf(*process, generation), callee, times})) {
      return slot;
    }
  }
  return end < slots ? end : 0;
}

}  // namespace actord::runtime
