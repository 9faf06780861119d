// Walks over the process table for upgrades: tells processes of newer versions,
// and counts the processes of each version. A walk is done in pieces, so that
// the caller can stop in between, and the number of processes that become ready
// at a time is bounded.
#include "runtime/core.h"

namespace actord::runtime {
namespace {

// Calls `visit(pid, type, newer)` for the live processes of one piece of a
// walk. `newer`: the version to which the process is to upgrade, or null.
// Returns the slot where the next piece begins; 0: this was the last piece.
template <typename Visit>
uint32_t Walk(const ProcessTable& processes, uint32_t first_slot, Visit visit) {
  return processes.ForEachLive(
      first_slot, Runtime::kMaxLookedAt,
      [&](const Process& process, uint32_t generation) {
        const ProcessType* const type =
            process.type.load(std::memory_order_acquire);
        if (type == nullptr) return true;
        const ProcessType* const newer =
            (process.is_durable() ? type->durable_upgrade_to : type->upgrade_to)
                .load(std::memory_order_acquire);
        return visit(processes.PidOf(process, generation), *type, newer);
      });
}

}  // namespace

Runtime::UpgradePiece Runtime::Core::TellOfUpgrade(
    const absl::flat_hash_set<const ProcessType*>& versions,
    uint32_t first_slot) {
  UpgradePiece piece;
  piece.next_slot = Walk(
      processes, first_slot,
      [&](const Pid& pid, const ProcessType&, const ProcessType* newer) {
        if (!versions.contains(newer)) return true;
        // An error means that the process has ended, or that so many events
        // wait that it gets a turn anyway.
        if (delivery.Control(Owner::kAny, pid, kEventUpgrade, {}, lane).ok())
          ++piece.told;
        return piece.told < kMaxTold;
      });
  return piece;
}

Runtime::UpgradePiece Runtime::TellOfUpgrade(
    const absl::flat_hash_set<const ProcessType*>& versions,
    uint32_t first_slot) {
  return core_->TellOfUpgrade(versions, first_slot);
}

const absl::flat_hash_set<uint32_t>& Runtime::PluginsOfStore() const {
  return core_->plugins_of_store;
}

uint32_t Runtime::CountVersions(
    uint32_t first_slot,
    absl::flat_hash_map<const ProcessType*, VersionCount>& counts) const {
  return Walk(
      core_->processes, first_slot,
      [&](const Pid&, const ProcessType& type, const ProcessType* newer) {
        ++counts[&type].live;
        if (newer != nullptr) ++counts[newer].to_come;
        return true;
      });
}

}  // namespace actord::runtime
