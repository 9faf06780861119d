#include "runtime/external_yields.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace actord::runtime {
namespace {

uint64_t Fingerprint(const YieldResult& result) {
  return absl::HashOf(static_cast<int>(result.code), result.payload.bytes,
                      result.payload.content_type);
}

// What a yield that waits is charged: its bytes, and what the tables need.
size_t ChargeOf(const ExternalYield& yield) {
  constexpr size_t kOverheadBytes = 512;
  return yield.payload.bytes.size() + yield.payload.content_type.size() +
         yield.command.size() + yield.process_type.size() + kOverheadBytes;
}

bool Matches(const YieldFilter& filter, const ExternalYield& yield) {
  return (filter.command.empty() ||
          MatchesPattern(filter.command, yield.command)) &&
         (filter.pid.empty() || filter.pid == yield.token.pid);
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view command) {
  if (!pattern.empty() && pattern.back() == '*') {
    return command.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern == command;
}

ExternalYields::ExternalYields(std::vector<std::string> patterns,
                               const LiveLimits& limits, const Clock& clock)
    : patterns_(std::move(patterns)), limits_(limits), clock_(clock) {}

bool ExternalYields::IsExternal(std::string_view command) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [command](const std::string& pattern) {
                       return MatchesPattern(pattern, command);
                     });
}

bool ExternalYields::Add(ExternalYield yield, actord_completion completion) {
  const size_t bytes = ChargeOf(yield);
  const MutexLock lock(mutex_);
  if (waiting_bytes_ + bytes > limits_.max_external_yield_bytes()) return false;
  waiting_bytes_ += bytes;
  sequence_by_token_.emplace(yield.token, next_sequence_);
  waiting_.emplace(next_sequence_++,
                   Waiting{std::move(yield), completion, bytes});
  return true;
}

void ExternalYields::Remove(const YieldToken& token,
                            WaitingBySequence::iterator waiting) {
  waiting_bytes_ -= waiting->second.bytes;
  waiting_.erase(waiting);
  sequence_by_token_.erase(token);
}

void ExternalYields::Expire(const YieldToken& token) {
  const MutexLock lock(mutex_);
  const auto it = sequence_by_token_.find(token);
  if (it == sequence_by_token_.end()) return;
  Remove(token, waiting_.find(it->second));
  Remember(token, {});
}

CompleteAnswer ExternalYields::Answer(
    const YieldToken& token, const YieldResult& result,
    absl::FunctionRef<CompleteAnswer(actord_completion)> complete) {
  const MutexLock lock(mutex_);
  const auto it = sequence_by_token_.find(token);
  if (it != sequence_by_token_.end()) {
    const auto waiting = waiting_.find(it->second);
    const CompleteAnswer answer = complete(waiting->second.completion);
    if (answer != CompleteAnswer::kAccepted) return answer;
    Remove(token, waiting);
    Remember(token, {true, Fingerprint(result)});
    return CompleteAnswer::kAccepted;
  }
  Forget(/*room=*/0);
  const auto ended = ended_.find(token);
  if (ended == ended_.end()) return CompleteAnswer::kUnknown;
  if (!ended->second.answered) return CompleteAnswer::kExpired;
  return ended->second.fingerprint == Fingerprint(result)
             ? CompleteAnswer::kDuplicate
             : CompleteAnswer::kConflict;
}

void ExternalYields::Remember(const YieldToken& token, Ended ended) {
  Forget(/*room=*/1);
  ended_.emplace(token, ended);
  memory_.push_back({token, clock_.MonotonicNs()});
}

void ExternalYields::Forget(size_t room) {
  const uint64_t now = clock_.MonotonicNs();
  const uint64_t ttl_ns = limits_.answered_yield_ttl_ns();
  while (!memory_.empty() &&
         (memory_.size() + room > limits_.answered_yield_max() ||
          memory_.front().since_ns + ttl_ns <= now)) {
    ended_.erase(memory_.front().token);
    memory_.pop_front();
  }
}

YieldPage ExternalYields::List(const YieldFilter& filter,
                               uint64_t first_sequence, size_t page_size,
                               size_t page_bytes) const {
  YieldPage page;
  size_t looked_at = 0;
  size_t bytes = 0;
  const MutexLock lock(mutex_);
  for (auto it = waiting_.lower_bound(first_sequence); it != waiting_.end();
       ++it) {
    const bool matches = Matches(filter, it->second.yield);
    if (matches) bytes += it->second.yield.payload.bytes.size();
    const bool full = matches && !page.yields.empty() &&
                      (page.yields.size() == page_size || bytes > page_bytes);
    if (full || looked_at++ == Runtime::kMaxLookedAt) {
      page.next_sequence = it->first;
      break;
    }
    if (matches) page.yields.push_back(it->second.yield);
  }
  return page;
}

size_t ExternalYields::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace actord::runtime
