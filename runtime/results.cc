#include "runtime/results.h"

#include <algorithm>
#include <utility>

namespace actord::runtime {
namespace {

// What an outcome is charged: its bytes, and what the tables need for it.
size_t ChargeOf(const Outcome& outcome) {
  constexpr size_t kOverheadBytes = 256;
  return outcome.result.bytes.size() + outcome.result.content_type.size() +
         outcome.message.size() + kOverheadBytes;
}

}  // namespace

Results::Results(const LiveLimits& limits, const Clock& clock)
    : limits_(limits), clock_(clock) {}

void Results::Put(const Pid& pid, Outcome outcome, bool keep,
                  absl::FunctionRef<void()> end) {
  const size_t charge = ChargeOf(outcome);
  // A result larger than all the room there is, is not kept, and displaces no
  // other.
  keep = keep && charge <= limits_.result_max_bytes();
  const uint64_t now = keep ? clock_.MonotonicNs() : 0;
  std::vector<Waiter> waiters;
  {
    const MutexLock lock(mutex_);
    end();
    if (!waiters_.empty()) waiters = TakeWaiters(pid);
    if (keep) {
      Forget(now, charge);
      numbers_.emplace(pid, forgotten_ + kept_.size());
      kept_.push_back({pid, now, charge, {}});
      Kept& kept = kept_.back();
      bytes_ += charge;
      if (waiters.empty()) {
        kept.outcome = std::move(outcome);
        return;
      }
      kept.outcome = outcome;
    }
  }
  for (Waiter& waiter : waiters) std::move(waiter.done)(outcome);
}

std::vector<Results::Waiter> Results::TakeWaiters(const Pid& pid) {
  const auto it = waiters_.find(pid);
  if (it == waiters_.end()) return {};
  std::vector<Waiter> waiters = std::move(it->second);
  waiters_.erase(it);
  return waiters;
}

void Results::Forget(uint64_t now_ns, size_t room_bytes) {
  const uint64_t ttl_ns = limits_.result_ttl_ns();
  const size_t max_bytes = limits_.result_max_bytes();
  while (!kept_.empty() && (kept_.front().since_ns + ttl_ns <= now_ns ||
                            bytes_ + room_bytes > max_bytes)) {
    bytes_ -= kept_.front().charge_bytes;
    numbers_.erase(kept_.front().pid);
    kept_.pop_front();
    ++forgotten_;
  }
}

Results::Id Results::Await(const Pid& pid, Callback done,
                           absl::FunctionRef<bool()> is_live,
                           absl::FunctionRef<absl::Status()> not_found) {
  std::optional<Outcome> kept;
  {
    const MutexLock lock(mutex_);
    Forget(clock_.MonotonicNs(), 0);
    const auto it = numbers_.find(pid);
    if (it != numbers_.end()) {
      kept = kept_[it->second - forgotten_].outcome;
    } else {
      // Waits first and asks afterwards: an end that is not kept looks for
      // waiters only if it sees that there may be one (see is_live's caller).
      const Id id = next_id_++;
      waiters_[pid].push_back({id, std::move(done)});
      if (is_live()) return id;
      auto& waiters = waiters_[pid];
      done = std::move(waiters.back().done);
      waiters.pop_back();
      if (waiters.empty()) waiters_.erase(pid);
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
  const MutexLock lock(mutex_);
  const auto it = waiters_.find(pid);
  if (it == waiters_.end()) return false;
  const size_t erased = std::erase_if(
      it->second, [id](const Waiter& waiter) { return waiter.id == id; });
  if (it->second.empty()) waiters_.erase(it);
  return erased != 0;
}

void Results::AbandonAll(const absl::Status& status) {
  absl::flat_hash_map<Pid, std::vector<Waiter>> waiters;
  {
    const MutexLock lock(mutex_);
    waiters.swap(waiters_);
  }
  for (auto& [pid, list] : waiters) {
    for (Waiter& waiter : list) std::move(waiter.done)(status);
  }
}

size_t Results::kept() const {
  const MutexLock lock(mutex_);
  return kept_.size();
}

size_t Results::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace actord::runtime
