// Describes processes while they run: Describe and ListProcesses. A reader
// takes no lock; it reads a process as a sequence lock does, by generation.
#include <optional>
#include <utility>

#include "runtime/core.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/thread.h"

namespace actord::runtime {
namespace {

ProcessState StateOf(const Process& process, uint64_t word) {
  if (process.running.load(std::memory_order_relaxed)) {
    return ProcessState::kRunning;
  }
  if (Activity::Runnable(word)) return ProcessState::kReady;
  return (word & Activity::kBlocked) != 0 ? ProcessState::kBlocked
                                          : ProcessState::kIdle;
}

// Reads the type and a method of that type: see Process::method.
std::pair<const ProcessType*, uint16_t> TypeOf(const Process& process) {
  while (true) {
    const ProcessType* type = process.type.load(std::memory_order_acquire);
    const uint16_t method = process.method.load(std::memory_order_acquire);
    if (method != Process::kNoMethod &&
        type == process.type.load(std::memory_order_acquire)) {
      return {type, method};
    }
    YieldThread();
  }
}

// Describes the process in this slot. Nullopt: the slot has no process, or the
// process changed during the read.
std::optional<ProcessInfo> ReadSlot(const ProcessTable& processes,
                                    uint32_t slot) {
  const Process& process = processes.At(slot);
  // Both loads are seq_cst, in this order: lifecycle_log.h, (2). The word is
  // read once more, because only its value after the load of the generation
  // counts.
  static_cast<void>(process.activity.load(std::memory_order_seq_cst));
  FailPoint();
  const uint32_t generation =
      process.generation.load(std::memory_order_seq_cst);
  FailPoint();
  const uint64_t word = process.activity.load(std::memory_order_acquire);
  // A reserved slot does not count as a process yet: the step that spawns may
  // fail.
  if ((generation & 1) == 0 || (word & Activity::kEnded) != 0) {
    return std::nullopt;
  }
  ProcessInfo info;
  info.pid = processes.PidOf(process, generation);
  info.parent = process.parent.Load();
  const auto [type, method] = TypeOf(process);
  info.state = StateOf(process, word);
  // Acquire, like the loads below, for the check at the end.
  info.owner = process.owner.load(std::memory_order_acquire);
  info.priority = process.priority.load(std::memory_order_acquire);
  info.started_unix_ns =
      process.started_unix_ns.load(std::memory_order_acquire);
  info.steps = process.steps.load(std::memory_order_acquire);
  info.mailbox_messages = Activity::Messages(word);
  info.mailbox_bytes = Activity::Units(word) * kBufferUnitBytes;
  info.yields = process.yields_count.load(std::memory_order_acquire);
  info.cancel_requested =
      process.cancel_requested.load(std::memory_order_acquire);
  // Works like a sequence lock: the loads above are acquire, so they come
  // before this load. Their values belong together if no process ended or began
  // meanwhile. Only then the method is a method of that type.
  if (process.generation.load(std::memory_order_relaxed) != generation) {
    return std::nullopt;
  }
  if (type != nullptr) {
    info.process_type = type->name;
    info.method = type->descriptor->methods[method].name;
  }
  return info;
}

bool Matches(const ProcessFilter& filter, const ProcessInfo& info) {
  return Sees(filter.by, info.owner) &&
         (filter.process_type.empty() ||
          filter.process_type == info.process_type) &&
         (!filter.state || *filter.state == info.state) &&
         (filter.parent.empty() || filter.parent == info.parent);
}

}  // namespace

absl::StatusOr<ProcessInfo> Runtime::Describe(const Pid& pid, Owner by) const {
  const FoundProcess found = core_->processes.Find(pid, by);
  if (found) {
    std::optional<ProcessInfo> info =
        ReadSlot(core_->processes, found->index());
    if (info && info->pid == pid && Sees(by, info->owner)) {
      return *std::move(info);
    }
  }
  // It has just ended, or has not begun yet: `by` may know which.
  return core_->processes.WhyNotFound(pid, found ? Owner::kAny : by);
}

ProcessPage Runtime::ListProcesses(const ProcessFilter& filter,
                                   uint32_t first_slot,
                                   size_t page_size) const {
  ProcessPage page;
  const uint32_t slots = core_->processes.SlotsInUse();
  for (uint32_t slot = first_slot; slot < slots; ++slot) {
    if (slot - first_slot == kMaxLookedAt) {
      page.next_slot = slot;
      break;
    }
    std::optional<ProcessInfo> info = ReadSlot(core_->processes, slot);
    if (!info || !Matches(filter, *info)) continue;
    if (page.processes.size() == page_size) {
      page.next_slot = slot;
      break;
    }
    page.processes.push_back(*std::move(info));
  }
  return page;
}

}  // namespace actord::runtime
