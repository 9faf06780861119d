#include "runtime/process/process_table.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

bool ProcessTable::HasEnded(const Pid& pid, Owner by) const {
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
  const Process* const process = Find(pid);
  if (process == nullptr) return std::nullopt;
  // Acquire: if the next process of the slot has this owner, the load below
  // sees that the generation has changed.
  const Owner owner = process->owner.load(std::memory_order_acquire);
  return process->generation.load(std::memory_order_relaxed) == pid.generation
             ? std::optional(owner)
             : std::nullopt;
}

void ProcessTable::Release(Cache& cache, Process& process) {
  ACTORD_ASSERT_HOT((process.generation.load() & 1) == 0 &&
                        (process.activity.load() & Activity::kEnded) != 0,
                    "process_table.h: the process has ended");
  // A slot whose generations are used up is retired, so that no PID is reused.
  if (process.generation.load(std::memory_order_relaxed) >= UINT32_MAX - 1) {
    cache.Retire(slots_);
    return;
  }
  cache.Free(slots_, process.slot.load(std::memory_order_relaxed));
}

}  // namespace actord::runtime
