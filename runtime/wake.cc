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

namespace {

// Why the image or the history of a process cannot be used; OK: it can.
absl::Status DamageOf(const absl::StatusOr<StoredProcess>& stored) {
  if (absl::IsDataLoss(stored.status())) {
    return absl::DataLossError(
        absl::StrCat("the store is damaged: ", stored.status().message(),
                     ". Restore a backup"));
  }
  if (stored.ok() && stored->has_state && !stored->image &&
      stored->entry.durability != records::Durability::kReplay) {
    return absl::DataLossError(
        "the store is damaged: it has no image of the process. Restore a "
        "backup");
  }
  return absl::OkStatus();
}

}  // namespace

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
    const absl::Status damage = DamageOf(stored);
    if (absl::IsDataLoss(stored.status())) {
      // The entry alone is enough for a process in quarantine.
      stored = options.store->ReadProcess(pid, DurableStore::WithoutState);
      if (stored.ok() && !Sees(by, stored->entry.runtime.owner)) return false;
    } else if (stored.ok() && !stored->has_state) {
      return false;
    }
    const MutexLock lock(residency);
    if (!processes.IsDormant(pid)) return true;
    if (homes.RefusesWakes()) return false;
    // It may have come back, taken a step and fallen asleep meanwhile.
    if (homes.SleepsOf(pid) != sleeps) continue;
    absl::Status status = stored.status();
    if (status.ok()) status = BringBack(*std::move(stored), damage);
    if (status.ok()) return true;
    options.store->FailRead(status);
    return false;
  }
}

absl::Status Runtime::Core::BringBack(StoredProcess&& stored,
                                      const absl::Status& damage) {
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
  DurableState& restored = durable->BeginAgain(*process);
  if (!damage.ok()) {
    restored.damage = damage;
    stored.image.emplace();
  }
  // Its first turn restores the state, or puts the process into quarantine.
  absl::Status status = FillProcess(*process, stored, restored, lane);
  if (!status.ok()) return status;
  Upgrading::IsCountedIn(*process, durable->homes().NoteOf(stored.pid));
  if (!found.fits.ok()) {
    options.log(LogLevel::kError,
                absl::StrCat("process ", FormatPid(stored.pid),
                             " is in quarantine: ", found.fits.message(),
                             ". Its state and its mailbox are kept"),
                {.pid = stored.pid});
    EnterQuarantine(*process, stored, found.fits);
  } else if (has_yields || !damage.ok()) {
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
