// performance-notes: Volatile work beside durable work.
#include "runtime/table/process_table.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

FoundProcess ProcessTable::Look(const Pid& pid,
                                std::optional<ProcessSlot>& place) const {
  place.reset();
  if (homes_ == nullptr) return {};
  for (;;) {
    place = homes_->Find(pid);
    if (!place || place->is_dormant()) return {};
    if (const FoundProcess found = FindResident(*place)) return found;
    // The process has just ended, or has moved in the meantime.
    FailPoint();
    if (homes_->Find(pid) == place) {
      place.reset();
      return {};
    }
  }
}

FoundProcess ProcessTable::FindDurable(const Pid& pid, Owner by) const {
  for (;;) {
    std::optional<ProcessSlot> place;
    const FoundProcess found = Look(pid, place);
    if (!found) {
      if (!place || wake_ == nullptr || !wake_(pid, by)) return {};
      continue;
    }
    // Acquire: if the next process of the slot has this owner, the check sees
    // that the generation has changed.
    const Owner owner = found->owner.load(std::memory_order_acquire);
    if (found.IsStill()) return Sees(by, owner) ? found : FoundProcess{};
  }
}

FoundProcess ProcessTable::FindAwake(const Pid& pid) const {
  if (IsOfSlot(pid)) return FindVolatile(pid);
  std::optional<ProcessSlot> place;
  return Look(pid, place);
}

bool ProcessTable::Lives(const Pid& pid) const {
  if (IsOfSlot(pid)) return static_cast<bool>(FindVolatile(pid));
  std::optional<ProcessSlot> place;
  return Look(pid, place) || place.has_value();
}

bool ProcessTable::IsDormant(const Pid& pid) const {
  if (homes_ == nullptr || !IsHomePid(pid)) return false;
  const std::optional<ProcessSlot> place = homes_->Find(pid);
  return place && place->is_dormant();
}

bool ProcessTable::Want(const Pid& pid, Owner by, uint8_t bit) const {
  // A dormant process comes back with all bits.
  if (by == Owner::kAny && IsDormant(pid)) return true;
  while (const FoundProcess process = Find(pid, by)) {
    process->Want(bit);
    FailPoint();
    if (process.IsStill()) return true;
    // A durable process may have become dormant.
    if (!IsHomePid(pid)) return false;
  }
  return false;
}

bool ProcessTable::IsStillDurable(const Pid& pid) const {
  for (;;) {
    std::optional<ProcessSlot> place;
    if (!Look(pid, place)) return place.has_value();
    if (IsStill(*place)) return true;
  }
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

Process* ProcessTable::ReserveAgain(Cache& cache, const Pid& pid,
                                    const ProcessType* type, uint16_t method,
                                    uint8_t priority, Owner owner,
                                    const Pid& parent,
                                    uint64_t started_unix_ns) {
  const uint32_t slot = cache.AllocateAbove(slots_);
  if (slot == SlotTable<Process>::kNoSlot) return nullptr;
  Process& process = slots_.At(slot);
  // So a thread that reads the slot sees a durable process from the beginning.
  homes_->NameResident(
      pid, {slot, process.generation.load(std::memory_order_relaxed) + 1});
  Prepare(process, slot | Process::kDurableSlot, type, method, priority, owner,
          parent, started_unix_ns);
  // Observers that wanted to learn of its end may still want to.
  process.wanted.store(Wanted::kAll, std::memory_order_relaxed);
  return &process;
}

bool ProcessTable::EnterAgain(Process& process, const Pid& pid) {
  const bool has_to_enqueue =
      Activity::Add(process.activity, -Activity::kEnded);
  homes_->Wake(pid, {process.index(),
                     process.generation.load(std::memory_order_relaxed)});
  return has_to_enqueue;
}

bool ProcessTable::Sleep(Process& process, const Pid& pid, uint64_t word,
                         uint32_t note, uint64_t due_ns) {
  const MutexLock lock(homes_->ResidencyOf(pid));
  // The place comes before the word: a reader that finds no process behind the
  // word looks for its place again.
  homes_->Sleep(pid, note);
  // Meanwhile only completions that no yield waits for any more can come into
  // the mailbox.
  if (!process.activity.compare_exchange_strong(word, Activity::kEnded,
                                                std::memory_order_acq_rel)) {
    // Observers that wanted to learn of its end in the meantime took it for
    // dormant.
    process.wanted.fetch_or(Wanted::kAll, std::memory_order_seq_cst);
    homes_->Wake(pid, {process.index(),
                       process.generation.load(std::memory_order_relaxed)});
    return false;
  }
  if (due_ns != 0) homes_->wake_times().Add(pid, due_ns);
  process.generation.fetch_add(1, std::memory_order_seq_cst);
  return true;
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

void ProcessTable::ReleaseAsleep(Cache& cache, const Process& process) {
  FreeSlot(cache, process, process.index());
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
    // The caller may own a process that can no longer come back.
    if (homes_->RefusesWakes()) return false;
    if (by != Owner::kAny && by != Owner::kNobody) return true;
    // An ending process leaves its home a moment after it can no longer be
    // found.
    return !Lives(pid);
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
  // The same answer for every caller, so that nobody learns which processes are
  // dormant.
  const bool cannot_come_back =
      HasHome(pid) &&
      (homes_->RefusesWakes() || (by == Owner::kAny && IsDormant(pid)));
  if (cannot_come_back) {
    return Error(absl::StatusCode::kUnavailable, reason::kStopped,
                 absl::StrCat("process ", FormatPid(pid),
                              " cannot be read from the store, because the "
                              "daemon ends"));
  }
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
  while (const FoundProcess process = Find(pid)) {
    // Acquire: if the next process of the slot has this owner, the load below
    // sees that the generation has changed.
    const Owner owner = process->owner.load(std::memory_order_acquire);
    if (process->generation.load(std::memory_order_relaxed) ==
        process.generation) {
      return owner;
    }
    // A durable process may have become dormant.
    if (!IsHomePid(pid)) return std::nullopt;
  }
  return std::nullopt;
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
