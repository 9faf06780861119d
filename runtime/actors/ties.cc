#include "runtime/actors/ties.h"

#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/table/owner_in_turn.h"

namespace actord::runtime {
class Ties::BothLocked {
 public:
  BothLocked(Shard& a, Shard& b) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : first_(std::less<>()(&a, &b) ? a : b),
        second_(&a == &b        ? nullptr
                : &first_ == &a ? &b
                                : &a) {
    first_.mutex.lock();
    if (second_ != nullptr) second_->mutex.lock();
  }
  BothLocked(const BothLocked&) = delete;
  BothLocked& operator=(const BothLocked&) = delete;
  ~BothLocked() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (second_ != nullptr) second_->mutex.unlock();
    first_.mutex.unlock();
  }

 private:
  Shard& first_;
  Shard* const second_;
};

bool Ties::Mark(const Pid& pid, Owner by) const {
  return processes_.Want(pid, by, Wanted::kWatched);
}

void Ties::Tidy(Shard& shard, const Pid& pid) {
  const auto it = shard.sides.find(pid);
  if (it == shard.sides.end()) return;
  const Sides& sides = it->second;
  // A fired watch holds a place.
  if (sides.monitors.empty() && sides.watchers.empty() && sides.places == 0) {
    shard.sides.erase(it);
  }
}

size_t Ties::CountOf(const Pid& self) const {
  const Shard& shard = ShardOf(self);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(self);
  return it == shard.sides.end() ? 0 : it->second.places;
}

Ties::Described Ties::TiesOf(const Pid& pid, size_t max) const {
  Described ties;
  const auto add = [max](std::vector<Pid>& to, const Pid& other) {
    if (to.size() < max) to.push_back(other);
  };
  const Shard& shard = ShardOf(pid);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(pid);
  if (it == shard.sides.end()) return ties;
  for (const Watcher& watcher : it->second.watchers) {
    add(watcher.tag == 0 ? ties.links : ties.monitored_by, watcher.pid);
  }
  for (const auto& [tag, watched] : it->second.monitors) {
    add(ties.monitors, watched);
  }
  return ties;
}

void Ties::Apply(TieEffect&& tie, Process& /*process*/, const Pid& self,
                 Lane& lane) {
  switch (tie.kind) {
    case TieEffect::Kind::kMonitor:
      return Monitor(self, tie.tag, tie.other, lane);
    case TieEffect::Kind::kDemonitor:
      return Demonitor(self, tie.tag);
    case TieEffect::Kind::kLink:
      return Link(self, tie.other, lane);
    case TieEffect::Kind::kUnlink:
      return Unlink(self, tie.other);
  }
}

void Ties::Monitor(const Pid& self, uint64_t tag, const Pid& watched,
                   Lane& lane, std::optional<Owner> by) {
  const Owner owner = by ? *by : OwnerInTurn(processes_, self);
  // Marked, so that the end of `self` looks here. `self` lives, because this is
  // its turn.
  Mark(self, Owner::kAny);
  Shard& own = ShardOf(self);
  Shard& other = ShardOf(watched);
  bool lives = false;
  const auto enter = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const BothLocked lock(own, other);
    ++own.sides[self].places;
    other.sides[watched].watchers.insert({self, tag});
    lives = Mark(watched, owner);
    if (lives) {
      const bool is_new = own.sides[self].monitors.emplace(tag, watched).second;
      ACTORD_ASSERT(is_new, "ties.h: the monitor is new");
    } else {
      const bool is_new =
          own.sides[self].fired_monitors.emplace(tag, watched).second;
      ACTORD_ASSERT(is_new, "ties.h: the monitor is new");
      other.sides[watched].watchers.erase({self, tag});
      Tidy(other, watched);
    }
  };
  enter();
  if (!lives) Tell({self, tag}, 0, NoProcess(watched), lane);
}

void Ties::Demonitor(const Pid& self, uint64_t tag) {
  Pid watched;
  {
    Shard& shard = ShardOf(self);
    const MutexLock lock(shard.mutex);
    const auto it = shard.sides.find(self);
    if (it == shard.sides.end()) return;
    // The exit that is on its way frees the place.
    it->second.fired_monitors.erase(tag);
    const auto monitor = it->second.monitors.find(tag);
    if (monitor == it->second.monitors.end()) return;
    watched = monitor->second;
    it->second.monitors.erase(monitor);
    --it->second.places;
    Tidy(shard, self);
  }
  // If the watched process ends just now, it finds that this side is gone.
  FailPoint();
  Shard& shard = ShardOf(watched);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(watched);
  if (it == shard.sides.end()) return;
  it->second.watchers.erase({self, tag});
  Tidy(shard, watched);
}

void Ties::Link(const Pid& self, const Pid& other, Lane& lane,
                std::optional<Owner> by) {
  if (self == other) return;
  const Owner owner = by ? *by : OwnerInTurn(processes_, self);
  Mark(self, Owner::kAny);
  Shard& own = ShardOf(self);
  Shard& its = ShardOf(other);
  std::optional<Ended> refused;
  uint32_t end = 0;
  const auto enter = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const BothLocked lock(own, its);
    if (!own.sides[self].watchers.insert({other, 0}).second) return;
    ++own.sides[self].places;
    its.sides[other].watchers.insert({self, 0});
    if (!Mark(other, owner)) {
      refused = NoProcess(other);
    } else if (its.sides[other].places >= kMaxOfProcess) {
      refused = NoRoom(other);
    } else {
      ++its.sides[other].places;
      return;
    }
    // The event that is sent below holds the place.
    end = FireLink(own.sides[self], other);
    its.sides[other].watchers.erase({self, 0});
    Tidy(its, other);
  };
  enter();
  if (refused) Tell({self, 0}, end, *refused, lane);
}

void Ties::Unlink(const Pid& self, const Pid& other) {
  Shard& own = ShardOf(self);
  Shard& its = ShardOf(other);
  const auto leave = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const BothLocked lock(own, its);
    const auto drop = [](Shard& shard, const Pid& pid,
                         const Pid& linked) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      const auto it = shard.sides.find(pid);
      if (it == shard.sides.end()) return;
      it->second.places -= it->second.watchers.erase({linked, 0});
      Tidy(shard, pid);
    };
    drop(own, self, other);
    drop(its, other, self);
    // The events that are on their way free the places.
    const auto it = own.sides.find(self);
    if (it == own.sides.end()) return;
    std::set<Watcher>& fired = it->second.fired_links;
    fired.erase(fired.lower_bound({other, 0}),
                fired.upper_bound({other, UINT64_MAX}));
  };
  leave();
}

absl::Status Ties::BeginForParent(const Pid& self, const Pid& parent, bool link,
                                  uint64_t monitor) {
  Mark(self, Owner::kAny);
  Shard& own = ShardOf(self);
  Shard& its = ShardOf(parent);
  const size_t wanted = (link ? 1u : 0u) + (monitor != 0 ? 1u : 0u);
  const auto enter = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    const BothLocked lock(own, its);
    // A parent that ends after this check finds the ties that are stored here.
    if (!Mark(parent, Owner::kAny)) {
      return absl::NotFoundError(
          absl::StrCat("process ", FormatPid(parent), " has ended"));
    }
    if (its.sides[parent].places + wanted > kMaxOfProcess) {
      return absl::ResourceExhaustedError(
          absl::StrCat("process ", FormatPid(parent), " has ", kMaxOfProcess,
                       " watches, which is the limit"));
    }
    // The parent may have linked the child already, by the child's name.
    if (link && own.sides[self].watchers.insert({parent, 0}).second) {
      ++own.sides[self].places;
      its.sides[parent].watchers.insert({self, 0});
      ++its.sides[parent].places;
    }
    if (monitor != 0) {
      own.sides[self].watchers.insert({parent, monitor});
      its.sides[parent].monitors.emplace(monitor, self);
      ++its.sides[parent].places;
    }
    return absl::OkStatus();
  };
  return enter();
}

void Ties::EndForParent(const Pid& self, const Pid& parent, bool link,
                        uint64_t monitor) {
  if (link) Unlink(self, parent);
  if (monitor != 0) Demonitor(parent, monitor);
}

size_t Ties::size() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    sum += shard.sides.size();
  }
  return sum;
}

}  // namespace actord::runtime
