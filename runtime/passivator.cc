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

void Passivator::LookAround(uint64_t now_ns, uint64_t after_ns) {
  ordered_ = 0;
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
      process.yields_count.load(std::memory_order_relaxed) != 0 ||
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
  // A long history does not become shorter without a step.
  if (type->is_replayed() && before.doublings < kMaxDoublings) ++seen.doublings;
  Order(core_.processes.PidOf(process, generation), steps);
}

void Passivator::Order(const Pid& pid, uint64_t steps) {
  ++ordered_;
  const PassivateHeader header{.steps = steps, .position = position_};
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

}  // namespace actord::runtime
