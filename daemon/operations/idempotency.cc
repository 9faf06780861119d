#include "daemon/operations/idempotency.h"

#include <limits>
#include <utility>

namespace actord::daemon {

RequestIds::RequestIds(absl::Duration ttl, size_t max_ids,
                       const runtime::Clock& clock)
    : ttl_ns_(static_cast<uint64_t>(absl::ToInt64Nanoseconds(ttl))),
      max_ids_(max_ids),
      clock_(clock) {}

RequestIds::Role RequestIds::Begin(const std::string& id, uint64_t fingerprint,
                                   Callback callback) {
  runtime::Pid answer;
  {
    absl::MutexLock lock(&mutex_);
    ForgetOld(clock_.MonotonicNs());
    const auto [found, inserted] = entries_.try_emplace(id);
    Entry& entry = found->second;
    if (inserted) {
      entry.fingerprint = fingerprint;
      return Role::kFirst;
    }
    if (entry.fingerprint != fingerprint) return Role::kReused;
    if (entry.in_flight) {
      entry.waiting.push_back(std::move(callback));
      return Role::kRepeat;
    }
    answer = entry.answer;
  }
  std::move(callback)(answer);
  return Role::kRepeat;
}

void RequestIds::End(const std::string& id,
                     const absl::StatusOr<runtime::Pid>& answer) {
  std::vector<Callback> waiting;
  {
    absl::MutexLock lock(&mutex_);
    const uint64_t now_ns = clock_.MonotonicNs();
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    waiting = std::move(entry.waiting);
    if (answer.ok()) {
      entry.in_flight = false;
      entry.answer = *answer;
      const uint64_t never = std::numeric_limits<uint64_t>::max();
      expiries_.push_back(
          {ttl_ns_ > never - now_ns ? never : now_ns + ttl_ns_, id});
      ForgetOld(now_ns);
    } else {
      entries_.erase(found);
    }
  }
  for (Callback& callback : waiting) std::move(callback)(answer);
}

size_t RequestIds::size() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

void RequestIds::ForgetOld(uint64_t now_ns) {
  while (!expiries_.empty() &&
         (expiries_.size() > max_ids_ || expiries_.front().at_ns <= now_ns)) {
    entries_.erase(expiries_.front().id);
    expiries_.pop_front();
  }
}

}  // namespace actord::daemon
