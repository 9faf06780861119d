#include "runtime/results.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace actord::runtime {
namespace {

// What an outcome is charged: its bytes, and what the tables need for it.
size_t ChargeOf(const Outcome& outcome) {
  constexpr size_t kOverheadBytes = 256;
  return outcome.result.bytes.size() + outcome.result.content_type.size() +
         outcome.message.size() + kOverheadBytes;
}

}  // namespace

Results::Results(const RuntimeOptions& options, const Clock& clock)
    : clock_(clock),
      ttl_ns_(
          static_cast<uint64_t>(absl::ToInt64Nanoseconds(options.result_ttl))),
      max_bytes_a_shard_(options.result_max_bytes / kShards) {}

Results::Shard& Results::ShardOf(const Pid& pid) {
  return shards_[absl::HashOf(pid) % kShards];
}

void Results::Put(const Pid& pid, const Outcome& outcome, bool keep,
                  absl::FunctionRef<void()> end) {
  Shard& shard = ShardOf(pid);
  std::vector<Waiter> waiters;
  {
    const MutexLock lock(shard.mutex);
    end();
    const auto it = shard.waiters.find(pid);
    if (it != shard.waiters.end()) {
      waiters = std::move(it->second);
      shard.waiters.erase(it);
    }
    if (keep) Keep(shard, pid, outcome);
  }
  for (Waiter& waiter : waiters) std::move(waiter.done)(outcome);
}

void Results::Keep(Shard& shard, const Pid& pid, const Outcome& outcome) {
  const uint64_t now = clock_.MonotonicNs();
  const size_t charge = ChargeOf(outcome);
  // A result larger than all the room there is, is not kept, and displaces no
  // other.
  if (charge > max_bytes_a_shard_) return;
  Forget(shard, now, charge);
  shard.outcomes.emplace(pid, outcome);
  shard.order.push_back({pid, now + ttl_ns_, charge});
  shard.bytes += charge;
}

void Results::Forget(Shard& shard, uint64_t now_ns, size_t room_bytes) {
  while (!shard.order.empty() &&
         (shard.order.front().forget_at_ns <= now_ns ||
          shard.bytes + room_bytes > max_bytes_a_shard_)) {
    shard.bytes -= shard.order.front().bytes;
    shard.outcomes.erase(shard.order.front().pid);
    shard.order.pop_front();
  }
}

Results::Id Results::Await(const Pid& pid, Callback done,
                           absl::FunctionRef<bool()> is_live,
                           absl::FunctionRef<absl::Status()> not_found) {
  Shard& shard = ShardOf(pid);
  std::optional<Outcome> kept;
  {
    const MutexLock lock(shard.mutex);
    Forget(shard, clock_.MonotonicNs(), 0);
    const auto it = shard.outcomes.find(pid);
    if (it != shard.outcomes.end()) {
      kept = it->second;
    } else {
      // Waits first and asks afterwards: an end that is not kept looks for
      // waiters only if it sees that there may be one (see is_live's caller).
      const Id id = next_id_.fetch_add(1, std::memory_order_relaxed);
      shard.waiters[pid].push_back({id, std::move(done)});
      if (is_live()) return id;
      auto& waiters = shard.waiters[pid];
      done = std::move(waiters.back().done);
      waiters.pop_back();
      if (waiters.empty()) shard.waiters.erase(pid);
    }
  }
  if (kept) {
    std::move(done)(*std::move(kept));
  } else {
    std::move(done)(not_found());
  }
  return 0;
}

bool Results::Cancel(const Pid& pid, Id id) {
  Shard& shard = ShardOf(pid);
  const MutexLock lock(shard.mutex);
  const auto it = shard.waiters.find(pid);
  if (it == shard.waiters.end()) return false;
  const size_t erased = std::erase_if(
      it->second, [id](const Waiter& waiter) { return waiter.id == id; });
  if (it->second.empty()) shard.waiters.erase(it);
  return erased != 0;
}

void Results::AbandonAll(const absl::Status& status) {
  for (Shard& shard : shards_) {
    absl::flat_hash_map<Pid, std::vector<Waiter>> waiters;
    {
      const MutexLock lock(shard.mutex);
      waiters.swap(shard.waiters);
    }
    for (auto& [pid, list] : waiters) {
      for (Waiter& waiter : list) std::move(waiter.done)(status);
    }
  }
}

size_t Results::kept() const {
  size_t kept = 0;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    kept += shard.outcomes.size();
  }
  return kept;
}

size_t Results::bytes() const {
  size_t bytes = 0;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    bytes += shard.bytes;
  }
  return bytes;
}

}  // namespace actord::runtime
