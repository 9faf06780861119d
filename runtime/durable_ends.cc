#include "runtime/durable_ends.h"

#include "runtime/core.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

constexpr int kMaxWokenALook = 1000;
constexpr int kMaxSlotsALook = 50'000;
constexpr uint64_t kPauseNs = 50'000'000;

}  // namespace

uint64_t DurableEnds::live() const { return core_.durable->live(); }

void DurableEnds::Look(uint16_t order, std::string_view reason,
                       absl::FunctionRef<bool(const Process&)> is_left) {
  const uint64_t now_ns = core_.clock.MonotonicNs();
  if (order != order_) {
    order_ = order;
    home_ = slot_ = 0;
    next_pass_ns_ = now_ns;
    told_.clear();
  }
  if (now_ns < next_pass_ns_) return;
  // The PID of a process that has ended never comes again.
  absl::erase_if(
      told_, [this](const Pid& pid) { return !core_.processes.Lives(pid); });
  woken_ = 0;
  const Homes& homes = core_.durable->homes();
  for (int seen = 0; seen < kMaxSlotsALook && woken_ < kMaxWokenALook; ++seen) {
    if (slot_ >= homes.SlotsInUse(home_)) {
      slot_ = 0;
      if (++home_ < kHomes) continue;
      home_ = 0;
      next_pass_ns_ = now_ns + kPauseNs;
      return;
    }
    if (const auto pid = homes.PidIn(home_, slot_++)) {
      Tell(*pid, reason, is_left);
    }
  }
}

void DurableEnds::Tell(const Pid& pid, std::string_view reason,
                       absl::FunctionRef<bool(const Process&)> is_left) {
  if (told_.contains(pid)) return;
  if (core_.processes.IsDormant(pid)) {
    // A later pass tells it.
    if (told_.size() >= kMaxEnding) return;
    ++woken_;
  }
  const FoundProcess process = core_.processes.Find(pid);
  if (!process) return;
  const bool is_quarantined = core_.durable->quarantine().Has(pid);
  const uint16_t order = is_quarantined ? uint16_t{kEventTerminate} : order_;
  if (order == ACTORD_EVENT_CANCEL && is_left(*process)) return;
  // If the journal takes no record now, a later pass tells the process.
  if (core_.Control(Owner::kAny, pid, order, reason).status.ok()) {
    told_.insert(pid);
  }
}

}  // namespace actord::runtime
