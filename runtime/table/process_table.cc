// performance-notes: Volatile work beside durable work.
#include "runtime/table/process_table.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

FoundProcess ProcessTable::FindDurable(const Pid& pid) const {
  if (homes_ == nullptr) return {};
  const std::optional<ProcessSlot> resident = homes_->Find(pid);
  return resident ? FindResident(*resident) : FoundProcess{};
}

std::optional<ProcessSlot> ProcessTable::ResidentOf(const Pid& pid) const {
  if (!IsHomePid(pid)) return ProcessSlot{pid.slot, pid.generation};
  return homes_ == nullptr ? std::nullopt : homes_->Find(pid);
}

void ProcessTable::WriteDurablePid(uint32_t slot, uint32_t generation,
                                   Pid& pid) const {
  if (const std::optional<Pid> durable = homes_->PidOf({slot, generation})) {
    pid = *durable;
  } else {
    WriteSlotPid(slot, generation, pid);
  }
}

void ProcessTable::Enter(Process& process, const Pid& pid) {
  ACTORD_ASSERT(
      homes_ != nullptr && !process.is_durable(),
      "process_table.h: there are homes, and the process is volatile");
  const uint32_t slot = process.slot.load(std::memory_order_relaxed);
  process.slot.store(slot | Process::kDurableSlot, std::memory_order_relaxed);
  homes_->Enter(pid,
                {slot, process.generation.load(std::memory_order_relaxed)});
}

// (Inlined: a part of each end.)
[[gnu::always_inline]] inline void ProcessTable::FreeSlot(
    Cache& cache, const Process& process, uint32_t slot) {
  // A slot whose generations are used up is retired, so that no PID is reused.
  if (process.generation.load(std::memory_order_relaxed) >= UINT32_MAX - 1) {
    cache.Retire(slots_);
    return;
  }
  cache.Free(slots_, slot);
}

void ProcessTable::ReleaseDurable(Cache& cache, Process& process) {
  // The generation is even, because the process has ended or never began.
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed) - 1;
  const std::optional<Pid> pid = homes_->PidOf({process.index(), generation});
  ACTORD_ASSERT(pid.has_value(), "process_table.h: the process was durable");
  homes_->Leave(*pid);
  FreeSlot(cache, process, process.index());
}

bool ProcessTable::HasEnded(const Pid& pid, Owner by) const {
  if (IsHomePid(pid)) {
    if (homes_ == nullptr || !homes_->MayHaveLived(pid)) return false;
    if (by != Owner::kAny && by != Owner::kNobody) return true;
    // An ending process leaves its home a moment after nobody can find it.
    return !FindDurable(pid);
  }
  if (pid.node != node_ || pid.incarnation != incarnation_ ||
      (pid.generation & 1) == 0) {
    return false;
  }
  if (by != Owner::kAny && by != Owner::kNobody) return true;
  return pid.slot < slots_.SlotsInUse() &&
         pid.generation <
             slots_.At(pid.slot).generation.load(std::memory_order_acquire);
}

absl::Status ProcessTable::WhyNotFound(const Pid& pid, Owner by) const {
  if (HasEnded(pid, by)) {
    return Error(absl::StatusCode::kFailedPrecondition, reason::kProcessEnded,
                 absl::StrCat("process ", FormatPid(pid), " has ended"));
  }
  const bool other_start = pid.node == node_ && pid.incarnation != incarnation_;
  return Error(
      absl::StatusCode::kNotFound, reason::kProcessNotFound,
      absl::StrCat(
          "there is no process ", FormatPid(pid),
          other_start ? "; it belongs to another start of this daemon" : ""));
}

std::optional<Owner> ProcessTable::OwnerOf(const Pid& pid) const {
  const FoundProcess process = Find(pid);
  if (!process) return std::nullopt;
  // Acquire: if the next process of the slot has this owner, the load below
  // sees that the generation has changed.
  const Owner owner = process->owner.load(std::memory_order_acquire);
  return process->generation.load(std::memory_order_relaxed) ==
                 process.generation
             ? std::optional(owner)
             : std::nullopt;
}

void ProcessTable::Release(Cache& cache, Process& process) {
  ACTORD_ASSERT_HOT((process.generation.load() & 1) == 0 &&
                        (process.activity.load() & Activity::kEnded) != 0,
                    "process_table.h: the process has ended");
  const uint32_t slot = process.slot.load(std::memory_order_relaxed);
  if (slot >= Process::kDurableSlot) [[unlikely]] {
    return ReleaseDurable(cache, process);
  }
  FreeSlot(cache, process, slot);
}

}  // namespace actord::runtime
