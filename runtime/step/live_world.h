// The World of a running daemon: reads the lane and the tables.
//
// Thread-safety: belongs to one thread that runs workers.
#pragma once

#include "runtime/actors/names.h"
#include "runtime/actors/ties.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/limits.h"
#include "runtime/step/world.h"
#include "runtime/system/clock.h"
#include "runtime/system/sip_hash.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class LiveWorld final : public World {
 public:
  // `secret`: differs in each start of the daemon.
  LiveWorld(const Catalog& catalog, ProcessTable& processes, const Names& names,
            const Ties& ties, const SipKey& secret, const LiveLimits& limits,
            const Clock& clock, Lane& lane)
      : World(limits.max_payload_bytes_place()),
        catalog_(catalog),
        processes_(processes),
        names_(names),
        ties_(ties),
        secret_(secret),
        clock_(clock),
        lane_(lane) {}
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  uint64_t UnixNs() override { return clock_.UnixNs(); }
  uint64_t MonotonicNs() override { return clock_.MonotonicNs(); }
  uint64_t RandomSeed(const Pid& self, uint64_t step) override;
  // Takes a slot from the lane's cache of free slots.
  ChildAnswer ReserveChild(const Pid& parent, uint64_t unix_ns,
                           const actord_spawn& child) override;
  Pid HolderOf(const Pid& self, std::string_view name) override;
  bool HasRoomForTie(const Pid& self, uint64_t begun) override;

 private:
  // Precondition: the process is in its turn.
  [[nodiscard]] Owner OwnerOf(const Pid& self) const {
    return IsHomePid(self)
               ? processes_.OwnerOf(self).value_or(Owner::kNobody)
               : processes_.At(self.slot).owner.load(std::memory_order_relaxed);
  }
  // Remembers the last type, because a process mostly spawns one type.
  const ProcessType* FindProcessType(std::string_view name);

  const Catalog& catalog_;
  ProcessTable& processes_;
  const Names& names_;
  const Ties& ties_;
  const SipKey secret_;
  const Clock& clock_;
  Lane& lane_;
  const ProcessType* last_type_ = nullptr;
};

}  // namespace actord::runtime
