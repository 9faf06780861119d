// The World of a running daemon: reads the lane and the tables.
//
// Thread-safety: belongs to one thread that runs workers.
// performance-notes: Rare code moved out.
#pragma once

#include <vector>

#include "runtime/actors/names.h"
#include "runtime/actors/ties.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/limits.h"
#include "runtime/step/world.h"
#include "runtime/system/clock.h"
#include "runtime/system/sip_hash.h"
#include "runtime/table/homes.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class LiveWorld final : public World {
 public:
  // `homes`: null if the runtime has no store. `secret`: differs in each start
  // of the daemon.
  LiveWorld(const Catalog& catalog, ProcessTable& processes, Homes* homes,
            const Names& names, const Ties& ties, const SipKey& secret,
            const LiveLimits& limits, const Clock& clock, Lane& lane)
      : World(limits.max_payload_bytes_place()),
        catalog_(catalog),
        processes_(processes),
        homes_(homes),
        names_(names),
        ties_(ties),
        secret_(secret),
        clock_(clock),
        lane_(lane) {}
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  uint64_t UnixNs() override { return clock_.UnixNs(); }
  uint64_t MonotonicNs() override {
    return lasting_ == nullptr ? clock_.MonotonicNs() : lasting_->NowNs();
  }
  uint64_t RandomSeed(const Pid& self, uint64_t step) override;
  // Takes a slot from the lane's cache of free slots. The child of a durable
  // process is durable if its type can be, and the spawn does not say
  // otherwise. Nobody finds a durable child before its begin (TakeReserved).
  ChildAnswer ReserveChild(const Pid& parent, uint64_t unix_ns,
                           const actord_spawn& child) override;
  Pid HolderOf(const Pid& self, std::string_view name) override;
  bool HasRoomForTie(const Pid& self, uint64_t begun) override;

  // Takes the monotonic time from `lasting`; null: from the daemon's clock.
  void TakeMonotonicTimeFrom(const LastingTime* lasting) { lasting_ = lasting; }
  // Takes a durable child that this step has reserved, and that begins now.
  Process& TakeReserved(const Pid& child);
  // Gives back the durable children that this step has reserved and that do not
  // begin.
  void GiveBackReserved();

 private:
  struct Reserved {
    Pid pid;
    Process* process = nullptr;
  };
  // Empty: the home of the parent has no room; the process was given back.
  // (Not inlined, so that a volatile child saves no registers.)
  [[gnu::noinline]] Pid DrawDurable(const Pid& parent, Process& process);

  // Remembers the last type, because a process mostly spawns one type.
  const ProcessType* FindProcessType(std::string_view name);

  const Catalog& catalog_;
  ProcessTable& processes_;
  Homes* const homes_;
  const Names& names_;
  const Ties& ties_;
  const SipKey secret_;
  const Clock& clock_;
  const LastingTime* lasting_ = nullptr;
  Lane& lane_;
  const ProcessType* last_type_ = nullptr;
  std::vector<Reserved> reserved_;
};

}  // namespace actord::runtime
