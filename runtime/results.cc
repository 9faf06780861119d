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

Results::Results(const RuntimeOptions& options, const Clock& clock)
    : clock_(clock),
      ttl_ns_(
          static_cast<uint64_t>(absl::ToInt64Nanoseconds(options.result_ttl))),
      max_bytes_(options.result_max_bytes) {}

void Results::Put(const Pid& pid, const Outcome& outcome, bool keep,
                  absl::FunctionRef<void()> end) {
  std::vector<Waiter> waiters;
  {
    const MutexLock lock(mutex_);
    end();
    const auto it = waiters_.find(pid);
    if (it != waiters_.end()) {
      waiters = std::move(it->second);
      waiters_.erase(it);
    }
    if (keep) Keep(pid, outcome);
  }
  for (Waiter& waiter : waiters) std::move(waiter.done)(outcome);
}

void Results::Keep(const Pid& pid, const Outcome& outcome) {
  const uint64_t now = clock_.MonotonicNs();
  const size_t charge = ChargeOf(outcome);
  // A result larger than all the room there is, is not kept, and displaces no
  // other.
  if (charge > max_bytes_) return;
  Forget(now, charge);
  outcomes_.emplace(pid, outcome);
  order_.push_back({pid, now + ttl_ns_, charge});
  bytes_ += charge;
}

void Results::Forget(uint64_t now_ns, size_t room_bytes) {
  while (!order_.empty() && (order_.front().forget_at_ns <= now_ns ||
                             bytes_ + room_bytes > max_bytes_)) {
    bytes_ -= order_.front().bytes;
    outcomes_.erase(order_.front().pid);
    order_.pop_front();
  }
}

Results::Id Results::Await(const Pid& pid, Callback done,
                           absl::FunctionRef<bool()> is_live,
                           absl::FunctionRef<absl::Status()> not_found) {
  std::optional<Outcome> kept;
  {
    const MutexLock lock(mutex_);
    Forget(clock_.MonotonicNs(), 0);
    const auto it = outcomes_.find(pid);
    if (it != outcomes_.end()) {
      kept = it->second;
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
  return outcomes_.size();
}

size_t Results::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace actord::runtime
