// Dormant processes: which ones begin so after a start, and how one comes back
// when somebody needs it. How a process becomes dormant:
// runtime/durable_turn/passivation.cc.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/process/upgrading.h"
#include "runtime/recovery.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

bool Runtime::Core::MayBeDormant(const StoredProcess& stored) const {
  if (options.durable.passivate_after == absl::InfiniteDuration() ||
      !stored.WaitsForMessages() ||
      limits.max_lifetime_ns() != LiveLimits::kForeverNs) {
    return false;
  }
  const FoundType found = FindTypeOf(catalog, stored.entry);
  if (!found.fits.ok() || !TimersDueNs(stored.entry.runtime)) return false;
  const StepMarks* const marks = options.store->marks();
  return marks == nullptr ||
         marks->Find(stored.pid, found.type->newest_durable().code) == nullptr;
}

std::optional<uint64_t> Runtime::Core::TimersDueNs(
    const records::RuntimeImage& image) const {
  uint64_t due_ns = image.yields.empty() ? 0 : UINT64_MAX;
  for (const records::YieldImage& yield : image.yields) {
    if (yield.kind != records::YieldKind::kCommand || yield.cancelled ||
        yield.answer != 0 || !options.timer_delay_ns ||
        tasks.IsExternal(yield.command)) {
      return std::nullopt;
    }
    const CommandHandler* const handler = catalog.FindCommand(yield.command);
    if (handler == nullptr || !handler->is_builtin()) return std::nullopt;
    const std::optional<uint64_t> delay_ns =
        options.timer_delay_ns(yield.command, yield.payload.bytes);
    if (!delay_ns) return std::nullopt;
    uint64_t at_ns =
        yield.begun_ns + std::min(*delay_ns, UINT64_MAX - yield.begun_ns);
    if (yield.deadline_ns != 0) at_ns = std::min(at_ns, yield.deadline_ns);
    due_ns = std::min(due_ns, std::max<uint64_t>(at_ns, 1));
  }
  return due_ns;
}

absl::Status Runtime::Core::EnterDormant(const StoredProcess& stored,
                                         const ProcessType& type) {
  auto no_room = ProcessTable::NoRoom::kInTable;
  if (!processes.CountDormant(&type, stored.entry.runtime.owner, no_room)) {
    return NoRoomForStored();
  }
  durable->homes().EnterDormant(stored.pid);
  if (const uint64_t due_ns = TimersDueNs(stored.entry.runtime).value_or(0)) {
    durable->homes().wake_times().Add(stored.pid, due_ns);
  }
  durable->CountDormant();
  lane.Count(&Counters::processes_started);
  return HoldNames(stored);
}

bool Runtime::Core::Wake(const Pid& pid, Owner by) {
  Homes& homes = durable->homes();
  Mutex& residency = homes.ResidencyOf(pid);
  for (;;) {
    uint64_t sleeps = 0;
    {
      const MutexLock lock(residency);
      if (!processes.IsDormant(pid)) return true;
      sleeps = homes.SleepsOf(pid);
    }
    // Without the lock: the disk may be slow.
    absl::StatusOr<StoredProcess> stored =
        options.store->ReadProcess(pid, [by](const StoredProcess& process) {
          return Sees(by, process.entry.runtime.owner);
        });
    if (stored.ok() && !stored->has_state) return false;
    const MutexLock lock(residency);
    if (!processes.IsDormant(pid)) return true;
    if (homes.RefusesWakes()) return false;
    // It may have come back, taken a step and fallen asleep meanwhile.
    if (homes.SleepsOf(pid) != sleeps) continue;
    absl::Status status = stored.status();
    if (status.ok()) status = BringBack(*std::move(stored));
    if (status.ok()) return true;
    options.store->FailRead(status);
    return false;
  }
}

absl::Status Runtime::Core::BringBack(StoredProcess&& stored) {
  ACTORD_ASSERT(processes.IsDormant(stored.pid),
                "core.h: the process is dormant");
  const ProcessEntry& entry = stored.entry;
  const records::RuntimeImage& image = entry.runtime;
  const StoredType found = TypeOf(stored);
  const ProcessType* const type = &found.type;
  const uint32_t method = type->FindMethod(entry.method);
  Process* const process = lane.WithMemory(
      [&](BufferCache& /*buffers*/, ProcessTable::Cache& cache) {
        return processes.ReserveAgain(
            cache, stored.pid, type, static_cast<uint16_t>(method),
            image.priority, image.owner, image.parent, image.started_unix_ns);
      });
  if (process == nullptr) {
    return absl::ResourceExhaustedError(
        "the process table has no slot left for a dormant process");
  }
  // FillProcess takes the yields.
  const std::optional<uint64_t> due_ns = TimersDueNs(image);
  const bool has_yields = !image.yields.empty();
  // Its first turn restores the state.
  absl::Status status =
      FillProcess(*process, stored, durable->BeginAgain(*process), lane);
  if (!status.ok()) return status;
  Upgrading::IsCountedIn(*process, durable->homes().NoteOf(stored.pid));
  if (!found.fits.ok()) {
    options.log(LogLevel::kError,
                absl::StrCat("process ", FormatPid(stored.pid),
                             " is in quarantine: ", found.fits.message(),
                             ". Its state and its mailbox are kept"));
    EnterQuarantine(*process, stored, found.fits);
  } else if (has_yields) {
    // Its first turn begins the timers again, whatever it came back for.
    Activity::Add(process->activity, Activity::kReady);
  }
  durable->homes().wake_times().Remove(stored.pid, due_ns.value_or(0));
  if (processes.EnterAgain(*process, stored.pid)) {
    scheduler.Enqueue(process, nullptr);
  }
  return absl::OkStatus();
}

}  // namespace actord::runtime
