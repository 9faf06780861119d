#include "runtime/actors/results.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/system/assert.h"
#include "runtime/system/processor.h"

namespace actord::runtime {

Results::Results(const LiveLimits& limits, const Clock& clock,
                 std::function<void()> first_is_kept)
    : limits_(limits),
      clock_(clock),
      first_is_kept_(std::move(first_is_kept)),
      chains_(kFirstChains) {}

Outcome Results::Unpack(const Kept& kept) {
  Outcome outcome{.kind = kept.kind,
                  .result = {},
                  .code = static_cast<absl::StatusCode>(kept.code),
                  .message = {},
                  .steps = kept.steps,
                  .started_unix_ns = kept.started_unix_ns,
                  .ended_unix_ns = kept.ended_unix_ns};
  if (kept.text != nullptr) {
    outcome.result = kept.text->result;
    outcome.message = kept.text->message;
  }
  return outcome;
}

size_t Results::ChargeOf(const Kept& kept) {
  return kept.text == nullptr ? kOverheadBytes
                              : ChargeOf(kept.text->result, kept.text->message);
}

size_t Results::ChargeOf(const Payload& result, std::string_view message) {
  return kOverheadBytes + result.bytes.size() + result.content_type.size() +
         message.size();
}

void Results::Put(const Pid& pid, Outcome&& outcome, bool keep,
                  absl::FunctionRef<void(const Outcome&)> end) {
  const size_t charge = ChargeOf(outcome.result, outcome.message);
  // A result larger than all the room there is, is not kept, and displaces no
  // other.
  keep = keep && charge <= limits_.result_max_bytes();
  const uint64_t now = keep ? clock_.CoarseMonotonicNs() : 0;
  std::unique_ptr<BlockQueue<Kept>::Block> block;
  // Its page faults come here, where nobody waits for them.
  if (keep && WantsBlock()) block = BlockQueue<Kept>::NewBlock();
  std::vector<Waiter> waiters;
  bool is_first = false;
  {
    const MutexLock lock(mutex_);
    end(outcome);
    if (!waiters_.empty()) waiters = TakeWaiters(pid);
    if (keep) {
      Forget(now, charge);
      kept_.Give(block);
      bytes_ += charge;
      is_first = kept_.empty();
      if (waiters.empty()) {
        Keep(pid, now, std::move(outcome));
      } else {
        Keep(pid, now, Outcome(outcome));
      }
      if (is_first) [[unlikely]] {
        oldest_since_ns_.store(now, std::memory_order_seq_cst);
      }
    }
  }
  if (is_first) [[unlikely]] {
    first_is_kept_();
  }
  // The outcome was moved only if nobody waits.
  for (Waiter& waiter : waiters) {
    std::move(waiter.done)(outcome);  // NOLINT(bugprone-use-after-move)
  }
}

void Results::Keep(const Pid& pid, uint64_t now_ns, Outcome&& outcome) {
  // In its place: a copy of what was put together elsewhere, in parts, stalls
  // the processor.
  Kept& kept = kept_.push_back();
  kept.pid = pid;
  kept.since_ns = now_ns;
  kept.started_unix_ns = outcome.started_unix_ns;
  kept.ended_unix_ns = outcome.ended_unix_ns;
  kept.steps = outcome.steps;
  kept.kind = outcome.kind;
  kept.code = static_cast<uint8_t>(outcome.code);
  if (!outcome.result.bytes.empty() || !outcome.result.content_type.empty() ||
      !outcome.message.empty()) {
    kept.text = std::make_unique<Text>(
        Text{std::move(outcome.result), std::move(outcome.message)});
  }
  if (++unchained_ >= kChainAtOnce) ChainNewest();
}

void Results::ChainNewest() {
  if (kept_.size() > chains_.size()) {
    chains_.assign(chains_.size() * 2, first_ - 1);
    unchained_ = kept_.size();
  }
  const size_t first = kept_.size() - std::exchange(unchained_, 0);
  for (size_t i = first; i < kept_.size(); ++i) {
    PrefetchForWrite(&chains_[ChainOf(kept_[i].pid)]);
  }
  for (size_t i = first; i < kept_.size(); ++i) Chain(i);
}

void Results::Chain(size_t index) {
  Kept& kept = kept_[index];
  const auto number = static_cast<uint32_t>(first_ + index);
  uint32_t& newest = chains_[ChainOf(kept.pid)];
  kept.next_of_chain = number - newest;
  newest = number;
}

// Processes that end one after the other have neighbouring slots, of about the
// same generation, more often than not: they share the lines of the table. The
// generations are spread over it.
size_t Results::ChainOf(const Pid& pid) const {
  constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;
  return (pid.slot + ((pid.generation * kSpread) >> 32)) & (chains_.size() - 1);
}

const Results::Kept* Results::Find(const Pid& pid) const {
  ACTORD_ASSERT(unchained_ == 0, "results.h: all are in their chains");
  // How many results ago it came.
  size_t age =
      static_cast<uint32_t>(first_ + kept_.size()) - chains_[ChainOf(pid)];
  while (age - 1 < kept_.size()) {
    const Kept& kept = kept_[kept_.size() - age];
    if (kept.pid == pid) return &kept;
    if (kept.next_of_chain == 0) break;
    age += kept.next_of_chain;
  }
  return nullptr;
}

std::vector<Results::Waiter> Results::TakeWaiters(const Pid& pid) {
  const auto it = waiters_.find(pid);
  if (it == waiters_.end()) return {};
  std::vector<Waiter> waiters = std::move(it->second);
  waiters_.erase(it);
  return waiters;
}

void Results::Forget(uint64_t now_ns, size_t room_bytes) {
  while (!kept_.empty() &&
         (IsOldestDue(now_ns, room_bytes) || kept_.size() == kMaxKept)) {
    ForgetOldest();
  }
}

bool Results::IsOldestDue(uint64_t now_ns, size_t room_bytes) {
  return kept_.front().since_ns + limits_.result_ttl_ns() <= now_ns ||
         bytes_ + room_bytes > limits_.result_max_bytes();
}

void Results::ForgetOldest() {
  bytes_ -= ChargeOf(kept_.front());
  kept_.front().text.reset();
  kept_.pop_front();
  ++first_;
  unchained_ = std::min(unchained_, kept_.size());
  oldest_since_ns_.store(kept_.empty() ? kNever : kept_.front().since_ns,
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
    if (!kept_.empty() || chains_.size() == kFirstChains) continue;
    // A table of another size: no number leads to a result that is kept.
    std::vector<uint32_t>(kFirstChains, first_ - 1).swap(chains_);
  }
}

Results::Id Results::Await(const Pid& pid, Callback done,
                           absl::FunctionRef<bool()> is_live,
                           absl::FunctionRef<absl::Status()> not_found) {
  std::optional<Outcome> kept;
  {
    const MutexLock lock(mutex_);
    Forget(clock_.CoarseMonotonicNs(), 0);
    // One that lives has no result yet. Its end comes through Put, and so after
    // this section, also when it is not kept: it sees that somebody asked (see
    // is_live's caller).
    if (is_live()) {
      const Id id = next_id_++;
      waiters_[pid].push_back({id, std::move(done)});
      return id;
    }
    ChainNewest();
    if (const Kept* found = Find(pid)) kept = Unpack(*found);
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
