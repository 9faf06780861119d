// performance-notes: Rare code moved out.
#include "runtime/actors/results.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace actord::runtime {

Results::Results(const LiveLimits& limits, const Clock& clock,
                 std::function<void()> first_is_kept)
    : limits_(limits),
      clock_(clock),
      first_is_kept_(std::move(first_is_kept)) {}

void Results::Put(const Pid& pid, Outcome&& outcome, bool keep,
                  absl::FunctionRef<void(const Outcome&)> end) {
  const size_t charge = OutcomeTable::ChargeOf(outcome);
  // A result that is larger than the limit of all results is not kept, and
  // displaces no other result.
  keep = keep && charge <= limits_.result_max_bytes();
  const uint64_t now = keep ? clock_.CoarseMonotonicNs() : 0;
  std::unique_ptr<OutcomeTable::Block> block;
  // The block is made here, so that no thread waits for its page faults under
  // the lock.
  if (keep && WantsBlock()) block = OutcomeTable::NewBlock();
  std::vector<Waiter> waiters;
  bool is_first = false;
  {
    const MutexLock lock(mutex_);
    end(outcome);
    if (!waiters_.empty()) waiters = TakeWaiters(pid);
    if (keep) {
      Forget(now, charge);
      kept_.Give(block);
      is_first = kept_.empty();
      if (waiters.empty()) {
        kept_.Add(pid, now, std::move(outcome));
      } else {
        kept_.Add(pid, now, Outcome(outcome));
      }
      if (is_first) [[unlikely]] {
        oldest_since_ns_.store(now, std::memory_order_seq_cst);
      }
    }
  }
  if (is_first) [[unlikely]] {
    first_is_kept_();
  }
  // The outcome was moved only if there are no awaiters.
  for (Waiter& waiter : waiters) {
    std::move(waiter.done)(outcome);  // NOLINT(bugprone-use-after-move)
  }
}

std::vector<Results::Waiter> Results::TakeWaiters(const Pid& pid) {
  const auto it = waiters_.find(pid);
  if (it == waiters_.end()) return {};
  std::vector<Waiter> waiters = std::move(it->second);
  waiters_.erase(it);
  return waiters;
}

void Results::Forget(uint64_t now_ns, size_t room_bytes) {
  while (!kept_.empty() && (IsOldestDue(now_ns, room_bytes) ||
                            kept_.size() == OutcomeTable::kMaxSize)) {
    ForgetOldest();
  }
}

bool Results::IsOldestDue(uint64_t now_ns, size_t room_bytes) {
  return kept_.oldest_since_ns() + limits_.result_ttl_ns() <= now_ns ||
         kept_.bytes() + room_bytes > limits_.result_max_bytes();
}

void Results::ForgetOldest() {
  kept_.RemoveOldest();
  oldest_since_ns_.store(kept_.empty() ? kNever : kept_.oldest_since_ns(),
                         std::memory_order_relaxed);
}

uint64_t Results::NextExpiryNs() const {
  const uint64_t since = oldest_since_ns_.load(std::memory_order_seq_cst);
  const uint64_t ttl_ns = limits_.result_ttl_ns();
  return since == kNever || ttl_ns == LiveLimits::kForeverNs ? kNever
                                                             : since + ttl_ns;
}

void Results::Trim() {
  const uint64_t now_ns = clock_.CoarseMonotonicNs();
  for (bool more = true; more;) {
    const MutexLock lock(mutex_);
    size_t left = kForgottenAtOnce;
    while (left > 0 && !kept_.empty() && IsOldestDue(now_ns, 0)) {
      ForgetOldest();
      --left;
    }
    more = left == 0;
    kept_.ShrinkIfEmpty();
  }
}

Results::Id Results::Await(
    Owner by, const Pid& pid, Callback done, absl::FunctionRef<bool()> is_live,
    absl::FunctionRef<absl::StatusOr<Outcome>()> not_kept) {
  std::optional<Outcome> kept;
  {
    const MutexLock lock(mutex_);
    Forget(clock_.CoarseMonotonicNs(), 0);
    // A live process has no result yet. Its end goes through Put, and so runs
    // after this critical section, also when no result is kept. The end sees
    // that there is an awaiter, because `is_live` sets its bit of `wanted`.
    if (is_live()) {
      const Id id = next_id_++;
      waiters_[pid].push_back({id, std::move(done)});
      return id;
    }
    kept = kept_.Find(pid);
  }
  if (kept && Sees(by, kept->owner)) {
    std::move(done)(*std::move(kept));
  } else {
    std::move(done)(not_kept());
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
  return kept_.bytes();
}

}  // namespace actord::runtime
