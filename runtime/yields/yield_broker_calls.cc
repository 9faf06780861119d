// The records of calls between processes, and of commands in the daemon, which
// tell who waits for what.
#include <algorithm>
#include <bit>

#include "runtime/yields/yield_broker.h"

namespace actord::runtime {
namespace {

// In place of a callee, the record of a command has the address of its handler.
struct HandlerAddress {
  const CommandHandler* handler = nullptr;
  uint64_t unused = 0;
};
static_assert(sizeof(HandlerAddress) == sizeof(Pid));

}  // namespace

actord_completion YieldBroker::MakeWaiting(uint32_t slot, const Pid& callee,
                                           const Times& times) {
  YieldRecord& record = records_.At(slot);
  record.callee.Store(callee);
  const auto now_ns =
      static_cast<int64_t>(scheduler_.clock().CoarseMonotonicNs());
  // The deadline counts from the beginning.
  const uint64_t whole_ns =
      times.timeout_ns == 0 ? 0 : times.timeout_ns + times.age_ns;
  record.call_times.store(
      CallTimes::Of(now_ns - static_cast<int64_t>(times.age_ns), whole_ns)
          .bits(),
      std::memory_order_release);
  const actord_completion handle = MakePending(slot);
  if (times.timeout_ns != 0) SetTimeout(handle, times.timeout_ns);
  return handle;
}

actord_completion YieldBroker::OpenCall(Process& process, uint32_t generation,
                                        uint64_t tag, const Pid& callee,
                                        const Times& times, Lane& lane) {
  const uint32_t slot =
      Prepare(process, generation, tag, YieldRecord::Kind::kCall, lane);
  return slot == kNoYieldSlot ? 0 : MakeWaiting(slot, callee, times);
}

actord_completion YieldBroker::OpenCommand(Process& process,
                                           uint32_t generation, uint64_t tag,
                                           const CommandHandler* handler,
                                           const Times& times, Lane& lane) {
  const uint32_t slot =
      Prepare(process, generation, tag, YieldRecord::Kind::kCommand, lane);
  return slot == kNoYieldSlot
             ? 0
             : MakeWaiting(slot,
                           std::bit_cast<Pid>(
                               HandlerAddress{.handler = handler, .unused = 0}),
                           times);
}

uint32_t YieldBroker::ForEachCall(
    uint32_t first, uint32_t max_slots, bool with_commands,
    absl::FunctionRef<bool(const OpenedCall&)> use) const {
  const uint32_t slots = records_.SlotsInUse();
  const uint32_t end = std::min(slots, first + std::min(max_slots, slots));
  for (uint32_t slot = first; slot < end; ++slot) {
    const YieldRecord& record = records_.At(slot);
    // Acquire, as the loads of AtomicPid: the values belong to one yield if the
    // word is the same before and after (OwnerOf).
    const uint64_t word = record.word.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(word) != YieldRecord::kPending) continue;
    const YieldRecord::Kind kind = record.kind.load(std::memory_order_acquire);
    const bool is_command = kind == YieldRecord::Kind::kCommand;
    if (is_command ? !with_commands : kind != YieldRecord::Kind::kCall) {
      continue;
    }
    const Process* const process =
        record.process.load(std::memory_order_acquire);
    const uint32_t generation =
        record.process_generation.load(std::memory_order_acquire);
    const Pid callee = record.callee.Load();
    const CallTimes times(record.call_times.load(std::memory_order_acquire));
    if (record.word.load(std::memory_order_relaxed) != word) continue;
    OpenedCall call{.caller = processes_.PidOf(*process, generation),
                    .callee = is_command ? Pid{} : callee,
                    .times = times};
    if (is_command) {
      call.command = std::bit_cast<HandlerAddress>(callee).handler;
      if (call.command == nullptr) continue;
    }
    if (!use(call)) return slot;
  }
  return end < slots ? end : 0;
}

}  // namespace actord::runtime
