#include "runtime/passivator.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// The idle time of a process that refuses each order grows up to 1,024 times.
constexpr uint32_t kMaxDoublings = 10;
// Maximum number of orders in one pass. Each order causes a short turn that
// delays other processes.
constexpr size_t kMaxOrders = 50'000;

}  // namespace

Passivator::Passivator(Runtime::Core& core)
    : core_(core),
      after_ns_(core.options.durable.passivate_after == absl::InfiniteDuration()
                    ? 0
                    : static_cast<uint64_t>(absl::ToInt64Nanoseconds(
                          core.options.durable.passivate_after))) {
  ACTORD_ASSERT(core.options.store != nullptr,
                "passivator.h: the runtime has a store");
}

absl::Status Passivator::Start() {
  if (after_ns_ == 0) return absl::OkStatus();
  try {
    thread_ = SystemThread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(
        absl::StrCat("cannot start the thread that looks for idle processes: ",
                     error.what()));
  }
}

void Passivator::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Passivator::Run() {
  pthread_setname_np(pthread_self(), "passivate");
  // How often the thread checks whether the table is nearly full.
  const auto pause =
      std::chrono::nanoseconds(std::min(after_ns_ / 4, kSecondNs));
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (!stopping_) wake_.wait_for(mutex_, pause);
      if (stopping_) return;
    }
    MayLook();
  }
}

bool Passivator::IsCrowded() const {
  const uint64_t live = core_.LiveProcesses();
  const uint64_t dormant = core_.durable->homes().dormant();
  const uint64_t max = core_.limits.max_processes();
  return live - std::min(live, dormant) >= max - max / 10;
}

void Passivator::LookIfDue() {
  ACTORD_ASSERT(!thread_.joinable(), "passivator.h: Start was not called");
  MayLook();
}

void Passivator::MayLook() {
  if (after_ns_ == 0) return;
  const uint64_t now_ns = core_.clock.MonotonicNs();
  const bool is_crowded = IsCrowded();
  const uint64_t after_ns =
      is_crowded ? std::min(after_ns_, kSecondNs) : after_ns_;
  const uint64_t pause_ns = std::min(after_ns / 4, 60 * kSecondNs);
  // The last pass found more idle processes than it could order at once.
  if (now_ns - looked_ns_ < pause_ns && ordered_ < kMaxOrders) return;
  looked_ns_ = now_ns;
  LookAround(now_ns, after_ns);
}

void Passivator::TakeRefusals() {
  for (const Pid& pid : core_.durable->TakeLongHistories()) {
    const FoundProcess process = core_.processes.FindAwake(pid);
    if (!process || process->index() >= seen_.size()) continue;
    Seen& seen = seen_[process->index()];
    // A long history does not become shorter without a step.
    if (seen.generation == process.generation &&
        seen.doublings < kMaxDoublings) {
      ++seen.doublings;
    }
  }
}

void Passivator::LookAround(uint64_t now_ns, uint64_t after_ns) {
  ordered_ = 0;
  TakeRefusals();
  may_order_ = core_.options.store->Applied() >= position_;
  seen_.resize(std::max<size_t>(seen_.size(), core_.processes.SlotsInUse()));
  core_.processes.ForEachLive(
      0, UINT32_MAX, [&](Process& process, uint32_t generation) {
        // The table may have grown in the meantime.
        const uint32_t slot = process.index();
        if (slot >= seen_.size()) return false;
        Look(process, generation, now_ns, after_ns, seen_[slot]);
        return true;
      });
  position_ = core_.options.store->journal().Tail();
}

void Passivator::Look(const Process& process, uint32_t generation,
                      uint64_t now_ns, uint64_t after_ns, Seen& seen) {
  const Seen before = seen;
  seen = {};
  if (!process.is_durable()) return;
  // Acquire: the turn that has left this word has appended its record.
  const uint64_t word = process.activity.load(std::memory_order_acquire);
  if ((word & Activity::kEnded) != 0 || Activity::Runnable(word) ||
      process.cancel_requested.load(std::memory_order_relaxed)) {
    return;
  }
  const ProcessType* const type = process.type.load(std::memory_order_acquire);
  if (type == nullptr) return;
  const uint64_t steps = process.steps.load(std::memory_order_relaxed);
  seen = {.generation = generation,
          .steps = static_cast<uint32_t>(steps),
          .since_ns = now_ns};
  if (before.generation != generation || before.steps != seen.steps) return;
  seen.since_ns = before.since_ns;
  seen.doublings = before.doublings;
  const uint64_t wait_ns = std::min(after_ns, UINT64_MAX >> kMaxDoublings)
                           << before.doublings;
  if (now_ns - before.since_ns < wait_ns || !may_order_ ||
      ordered_ >= kMaxOrders) {
    return;
  }
  // If the process refuses, its idle time begins anew.
  seen.since_ns = now_ns;
  const Pid pid = core_.processes.PidOf(process, generation);
  PassivateHeader header{.steps = steps, .position = position_};
  if (process.yields_count.load(std::memory_order_relaxed) != 0) {
    switch (LookAtTimers(pid, header)) {
      case Timers::kOtherYields:
        // Only a step changes that.
        seen.doublings = kMaxDoublings;
        return;
      case Timers::kTooSoon:
        return;
      case Timers::kMaySleep:
        break;
    }
  }
  Order(pid, header);
}

Passivator::Timers Passivator::LookAtTimers(const Pid& pid,
                                            PassivateHeader& header) {
  // If the process takes a step meanwhile, it refuses the order.
  const absl::StatusOr<StoredProcess> stored =
      core_.options.store->ReadProcess(pid, DurableStore::WithoutState);
  // It has ended, or somebody who needs it finds the damage.
  if (!stored.ok()) return Timers::kTooSoon;
  const records::RuntimeImage& image = stored->entry.runtime;
  const std::optional<uint64_t> due_ns = core_.TimersDueNs(image);
  if (!due_ns) return Timers::kOtherYields;
  const uint64_t least_ns = core_.timed_wakes->least_ns();
  header.timers = image.yields.size();
  header.due_ns = *due_ns;
  header.until_ns = *due_ns - std::min(*due_ns, least_ns);
  return core_.durable->NowNs() < header.until_ns ? Timers::kMaySleep
                                                  : Timers::kTooSoon;
}

void Passivator::Order(const Pid& pid, const PassivateHeader& header) {
  ++ordered_;
  struct Run run(
      Run::Kind::kControl,
      core_.lane.NewEnvelope(
          kEventPassivate,
          {reinterpret_cast<const char*>(&header), sizeof(header)}, {}),
      Owner::kAny);
  if (core_.delivery.Post(pid, run, core_.lane) != Posted::kDelivered) {
    core_.lane.Free(run.first);
  }
}

TimedWakes::TimedWakes(Runtime::Core& core)
    : core_(core),
      least_ns_(core.options.durable.passivate_after == absl::InfiniteDuration()
                    ? 0
                    : std::min(kSecondNs,
                               static_cast<uint64_t>(absl::ToInt64Nanoseconds(
                                   core.options.durable.passivate_after)))) {
  ACTORD_ASSERT(core.options.store != nullptr,
                "passivator.h: the runtime has a store");
}

absl::Status TimedWakes::Start() {
  // No process is ever dormant.
  if (least_ns_ == 0) return absl::OkStatus();
  try {
    thread_ = SystemThread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(
        absl::StrCat("cannot start the thread that brings dormant processes "
                     "back for their timers: ",
                     error.what()));
  }
}

void TimedWakes::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void TimedWakes::Run() {
  pthread_setname_np(pthread_self(), "timed wakes");
  bool has_more = false;
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (!stopping_ && !has_more) {
        // A time that is added meanwhile is at least `least_ns_` away.
        const uint64_t first_ns = core_.durable->homes().wake_times().FirstNs();
        const uint64_t now_ns = core_.durable->NowNs();
        const uint64_t wait_ns = first_ns > now_ns
                                     ? std::min(first_ns - now_ns, least_ns_)
                                     : least_ns_;
        wake_.wait_for(mutex_, std::chrono::nanoseconds(wait_ns));
      }
      if (stopping_) return;
    }
    has_more = Look();
  }
}

void TimedWakes::LookIfDue() {
  ACTORD_ASSERT(!thread_.joinable(), "passivator.h: Start was not called");
  while (Look()) continue;
}

bool TimedWakes::HasRoom() const {
  const uint64_t live = core_.LiveProcesses();
  const uint64_t dormant = core_.durable->homes().dormant();
  return live - std::min(live, dormant) < core_.limits.max_processes() &&
         !core_.options.store->journal().Behind();
}

bool TimedWakes::Look() {
  Homes& homes = core_.durable->homes();
  const bool has_room = HasRoom();
  for (int woken = 0; woken < kTrickle; ++woken) {
    const std::optional<WakeTimes::Due> due =
        homes.wake_times().TakeDue(core_.durable->NowNs());
    if (!due) return false;
    const std::optional<Pid> pid = homes.PidIn(due->home, due->slot);
    // False: the daemon ends. The next start reads the times again.
    if (pid && core_.processes.IsDormant(*pid) &&
        !core_.Wake(*pid, Owner::kAny)) {
      return false;
    }
  }
  return has_room;
}

}  // namespace actord::runtime
