#include "runtime/shutdown.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

constexpr std::string_view kShuttingDown = "the daemon is shutting down";

}  // namespace

Shutdown::Shutdown(Runtime::Core& core, absl::Duration stuck_after)
    : core_(core),
      stuck_after_ns_(static_cast<uint64_t>(
          absl::ToInt64Nanoseconds(std::min(stuck_after, absl::Hours(24))))) {}

absl::Status Shutdown::UnlessBegun(absl::FunctionRef<absl::Status()> start) {
  const MutexLock lock(mutex_);
  return begun_ ? absl::OkStatus() : start();
}

bool Shutdown::IsStoppedByParent(const Process& process) const {
  const Pid pid = process.parent.Load();
  // A frozen parent takes no step.
  if (IsHomePid(pid) && !durable_ends_) return false;
  const FoundProcess parent = durable_ends_ ? core_.processes.Find(pid)
                                            : core_.processes.FindAwake(pid);
  if (!parent) return false;
  const ProcessType* type = parent->type.load(std::memory_order_acquire);
  return type != nullptr &&
         (type->descriptor->flags & ACTORD_TYPE_STOPS_CHILDREN) != 0;
}

void Shutdown::Tell(const Pid& pid, uint16_t type, std::string_view reason) {
  const absl::Status status =
      core_.delivery.Control(Owner::kAny, pid, type, reason, core_.lane);
  // An error is fine: the process has ended meanwhile, or is already full of
  // cancels.
  status.IgnoreError();
}

std::vector<Pid> Shutdown::TellAll(uint16_t type, std::string_view reason) {
  std::vector<Pid> left;
  core_.processes.ForEachLive(
      0, UINT32_MAX, [&](const Process& process, uint32_t generation) {
        const Pid pid = core_.processes.PidOf(process, generation);
        if (IsHomePid(pid)) return true;
        if (type == ACTORD_EVENT_CANCEL && IsStoppedByParent(process)) {
          left.push_back(pid);
        } else {
          Tell(pid, type, reason);
        }
        return true;
      });
  return left;
}

void Shutdown::CancelOrphans(std::vector<Pid>& left) {
  std::erase_if(left, [this](const Pid& pid) {
    const FoundProcess process = core_.processes.FindAwake(pid);
    if (!process) return true;
    if (IsStoppedByParent(*process)) return false;
    Tell(pid, ACTORD_EVENT_CANCEL, kShuttingDown);
    return true;
  });
}

bool Shutdown::HasLive() const {
  // One number: between two reads the last durable process could start a
  // volatile one, and end.
  return durable_ends_ ? core_.LiveProcesses() != 0 : core_.LiveVolatile() != 0;
}

bool Shutdown::WaitForEmpty(uint64_t deadline_ns, bool may_be_cut,
                            uint16_t type, std::vector<Pid> left) {
  // The end of a process notifies without the lock, so a notification may be
  // missed. The count is therefore polled.
  constexpr auto kLookAgain = std::chrono::milliseconds(5);
  // CancelOrphans examines each process in `left`, so it runs less often.
  constexpr uint64_t kAskAgainNs = 50'000'000;
  uint64_t ask_ns = 0;
  const MutexLock lock(mutex_);
  while (HasLive()) {
    if (may_be_cut && cut_short_) return false;
    if (durable_ends_) {
      durable_ends_->Look(type, kShuttingDown, [this](const Process& process) {
        return IsStoppedByParent(process);
      });
    }
    const uint64_t now_ns = core_.clock.MonotonicNs();
    if (now_ns >= deadline_ns) return false;
    if (now_ns >= ask_ns) {
      CancelOrphans(left);
      ask_ns = now_ns + kAskAgainNs;
    }
    wake_.wait_for(mutex_, kLookAgain);
  }
  return true;
}

void Shutdown::LogStuck() const {
  constexpr size_t kNamed = 10;
  size_t named = 0;
  core_.processes.ForEachLive(
      0, UINT32_MAX, [&](const Process& process, uint32_t generation) {
        const ProcessType* type = process.type.load(std::memory_order_acquire);
        if (type == nullptr || process.is_durable()) return true;
        const Pid pid = core_.processes.PidOf(process, generation);
        core_.options.log(
            LogLevel::kError,
            absl::StrCat("process ", FormatPid(pid), " of type ", type->name,
                         " does not return from its step"),
            {.pid = pid, .type = type->name});
        return ++named < kNamed;
      });
}

void Shutdown::FreezeDurable() {
  if (core_.durable == nullptr) return;
  durable_ends_.reset();
  // No client was told of records that no longer fit into the ring.
  core_.options.store->journal().RefuseWaits();
  core_.orders.freeze.store(true, std::memory_order_seq_cst);
}

bool Shutdown::TerminateAll(uint64_t given_up_ns) {
  core_.orders.terminate.store(true, std::memory_order_seq_cst);
  TellAll(kEventTerminate, kShuttingDown);
  if (WaitForEmpty(given_up_ns, /*may_be_cut=*/false, kEventTerminate, {})) {
    return true;
  }
  if (durable_ends_ && durable_ends_->live() != 0) {
    core_.options.log(LogLevel::kError,
                      absl::StrCat(durable_ends_->live(),
                                   " durable processes have not ended in time; "
                                   "they continue after the next start"));
    FreezeDurable();
    // A durable process that ends just now counts for a moment as a volatile
    // one.
    constexpr uint64_t kMomentNs = 100'000'000;
    if (WaitForEmpty(core_.clock.MonotonicNs() + kMomentNs,
                     /*may_be_cut=*/false, kEventTerminate, {})) {
      return true;
    }
  }
  LogStuck();
  return false;
}

uint64_t Shutdown::EndAllProcesses(ShutdownMode mode, absl::Duration timeout,
                                   bool& is_empty) {
  core_.state.store(RunState::kDraining, std::memory_order_seq_cst);
  if (!durable_ends_) FreezeDurable();
  // With kNow the processes are not cancelled before they are terminated.
  (mode == ShutdownMode::kDrain ? core_.orders.cancel : core_.orders.terminate)
      .store(true, std::memory_order_seq_cst);
  core_.admission.AwaitQuiet();
  if (core_.durable != nullptr) {
    // Processes in quarantine take no more turns.
    core_.durable->quarantine().AbandonAll(
        Error(absl::StatusCode::kUnavailable, reason::kDraining,
              "the daemon is shutting down; the process stays in quarantine"));
  }
  const uint64_t now = core_.clock.MonotonicNs();
  const uint64_t deadline =
      timeout == absl::InfiniteDuration()
          ? UINT64_MAX
          : now + static_cast<uint64_t>(
                      std::max<int64_t>(0, absl::ToInt64Nanoseconds(timeout)));
  if (mode == ShutdownMode::kDrain) {
    std::vector<Pid> left = TellAll(ACTORD_EVENT_CANCEL, kShuttingDown);
    is_empty = WaitForEmpty(deadline, /*may_be_cut=*/true, ACTORD_EVENT_CANCEL,
                            std::move(left));
    if (is_empty) {
      return core_.clock.MonotonicNs() + stuck_after_ns_;
    }
  }
  const uint64_t given_up_ns = core_.clock.MonotonicNs() + stuck_after_ns_;
  is_empty = TerminateAll(given_up_ns);
  return given_up_ns;
}

void Shutdown::Hurry() {
  const MutexLock lock(mutex_);
  cut_short_ = true;
  wake_.notify_all();
}

ShutdownReport Shutdown::Run(ShutdownMode mode, absl::Duration timeout,
                             DurableAtEnd durable) {
  uint64_t ended_before = 0;
  {
    const MutexLock lock(mutex_);
    if (begun_) {
      if (mode == ShutdownMode::kNow) cut_short_ = true;
      wake_.notify_all();
      while (!finished_) wake_.wait(mutex_);
      return report_;
    }
    begun_ = true;
    ended_before = core_.Stats().processes_ended;
  }
  if (durable == DurableAtEnd::kEnd && core_.durable != nullptr) {
    durable_ends_.emplace(core_);
  }
  bool is_empty = false;
  const uint64_t given_up_ns = EndAllProcesses(mode, timeout, is_empty);
  FreezeDurable();
  ShutdownReport report;
  report.forced = core_.Sum(&Counters::processes_forced);
  report.ended = core_.Stats().processes_ended - ended_before - report.forced;
  // Not counted again: a durable process that ends just now counts for a moment
  // as a volatile one.
  const uint64_t left = is_empty ? 0 : core_.LiveVolatile();
  report.forced += left;
  if (core_.durable != nullptr) report.kept = core_.durable->live();
  // Steps and pooled handlers have the same time to return.
  const uint64_t now_ns = core_.clock.MonotonicNs();
  report.stuck =
      left + core_.pool.Stop(given_up_ns - std::min(given_up_ns, now_ns));
  if (left == 0) {
    core_.threads.Stop();
    // Callers that wait for the disk get their answers while the daemon can
    // still send them.
    if (core_.durable != nullptr) {
      core_.options.store->Close();
      core_.CloseDurable();
    }
  }
  const absl::Status stopped =
      Error(absl::StatusCode::kUnavailable, reason::kStopped,
            "the daemon has stopped");
  core_.results.AbandonAll(stopped);
  core_.calls.AbandonAll(stopped);
  if (core_.kept_calls != nullptr) core_.kept_calls->AbandonAll(stopped);
  core_.state.store(RunState::kStopped, std::memory_order_seq_cst);
  const MutexLock lock(mutex_);
  report_ = report;
  finished_ = true;
  wake_.notify_all();
  return report_;
}

}  // namespace actord::runtime
