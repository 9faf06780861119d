// performance-notes: Rare code moved out.
#include "runtime/actors/results.h"

#include <actord/text.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/process/process_info.h"

namespace actord::runtime {
namespace {

bool IsListed(const EndedFilter& filter, uint16_t type,
              const OutcomeTable::Seen& seen) {
  return Sees(filter.by, seen.owner) && (type == 0 || type == seen.type) &&
         (!filter.kind || *filter.kind == seen.kind) &&
         (!filter.owner || *filter.owner == seen.owner) &&
         Match(filter.labels,
               seen.tags == nullptr ? nullptr : seen.tags->labels);
}

// Without the name of its type.
EndedInfo EndedInfoOf(const OutcomeTable::Seen& seen) {
  EndedInfo info;
  info.pid = seen.pid;
  info.owner = seen.owner;
  if (seen.tags != nullptr) {
    info.name = seen.tags->name;
    info.labels = seen.tags->labels;
  }
  info.kind = seen.kind;
  info.code = seen.code;
  info.message = CutUtf8(seen.message, EndedInfo::kMaxMessageBytes);
  info.steps = seen.steps;
  info.started_unix_ns = seen.started_unix_ns;
  info.ended_unix_ns = seen.ended_unix_ns;
  return info;
}

}  // namespace

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
  return AwaitOr(by, pid, std::move(done), is_live,
                 [&](Callback&& late) { std::move(late)(not_kept()); });
}

Results::Id Results::AwaitOr(Owner by, const Pid& pid, Callback done,
                             absl::FunctionRef<bool()> is_live,
                             absl::FunctionRef<void(Callback&&)> not_kept) {
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
    not_kept(std::move(done));
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

bool Results::ListSome(const EndedFilter& filter, uint16_t type,
                       size_t page_size, EndedPage& page,
                       std::vector<uint16_t>& types) const {
  const uint64_t now_ns = clock_.CoarseMonotonicNs();
  const MutexLock lock(mutex_);
  page.next = std::min(page.next, kept_.first() + kept_.size());
  for (size_t looked = 0; looked < kLookedAtOnce; ++looked) {
    // When one is too old, the others are even older.
    if (page.next <= kept_.first() ||
        kept_.See(page.next - 1).since_ns + limits_.result_ttl_ns() <= now_ns) {
      page.next = 0;
      return false;
    }
    const OutcomeTable::Seen seen = kept_.See(page.next - 1);
    if (IsListed(filter, type, seen)) {
      if (page.processes.size() == page_size) return false;
      page.processes.push_back(EndedInfoOf(seen));
      types.push_back(seen.type);
    }
    --page.next;
  }
  return true;
}

EndedPage Results::List(const EndedFilter& filter, uint64_t before,
                        size_t page_size, const TypeNames& names) const {
  EndedPage page;
  uint16_t type = 0;
  if (!filter.process_type.empty()) {
    type = names.Find(filter.process_type);
    if (type == 0) return page;
  }
  page.next = before == 0 ? UINT64_MAX : before;
  std::vector<uint16_t> types;
  for (size_t looked = 0; looked < kMaxLookedAt; looked += kLookedAtOnce) {
    if (!ListSome(filter, type, page_size, page, types)) break;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    page.processes[i].process_type = names.NameOf(types[i]);
  }
  return page;
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
