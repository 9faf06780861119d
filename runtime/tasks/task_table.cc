#include "runtime/tasks/task_table.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "runtime/process/process_info.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

uint64_t HashOf(const YieldResult& result) {
  return absl::HashOf(static_cast<int>(result.code), result.payload.bytes,
                      result.payload.content_type);
}

// The bytes that a waiting yield is charged: its contents and the tables'
// overhead.
size_t ChargeOf(const ExternalYield& yield) {
  constexpr size_t kOverheadBytes = 1024;
  return yield.payload.bytes.size() + yield.payload.content_type.size() +
         yield.command.size() + yield.process_type.size() +
         yield.traceparent.size() + yield.tracestate.size() + kOverheadBytes;
}

bool Matches(const YieldFilter& filter, const ExternalYield& yield) {
  return Sees(filter.by, yield.owner) &&
         (filter.command.empty() ||
          MatchesPattern(filter.command, yield.command)) &&
         (filter.pid.empty() || filter.pid == yield.token.pid);
}

}  // namespace

TaskTable::TaskTable(std::vector<std::string> patterns,
                     std::vector<WorkPolicy> policies, const LiveLimits& limits,
                     const Clock& clock, Completer complete, DurableLog* log)
    : patterns_(std::move(patterns)),
      limits_(limits),
      clock_(clock),
      complete_(std::move(complete)),
      log_(log),
      work_(std::move(policies)) {}

bool TaskTable::MatchesOne(std::string_view command) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [command](const std::string& pattern) {
                       return MatchesPattern(pattern, command);
                     });
}

WorkPolicy TaskTable::PolicyOf(std::string_view command) const {
  const MutexLock lock(mutex_);
  return work_.PolicyOf(command);
}

TaskTable::Added TaskTable::Add(ExternalYield yield,
                                actord_completion completion,
                                std::unique_ptr<const WorkPolicy> policy,
                                const TaskHistory& history) {
  const size_t bytes = ChargeOf(yield);
  const MutexLock lock(mutex_);
  if (waiting_bytes_ + bytes > limits_.max_external_yield_bytes()) {
    EndExpected(yield.token);
    return Added::kNoRoom;
  }
  const OwnerLimits::Taken taken = bytes_of_.Take(yield.owner, bytes);
  if (taken == OwnerLimits::Taken::kRefused) {
    EndExpected(yield.token);
    return Added::kOverQuota;
  }
  if (!expected_.empty()) expected_.erase(yield.token);
  waiting_bytes_ += bytes;
  sequence_by_token_.emplace(yield.token, next_sequence_);
  work_.Add(yield.token, yield.command, clock_.MonotonicNs(), std::move(policy),
            history);
  waiting_.emplace(
      next_sequence_++,
      Waiting{std::move(yield), completion, bytes,
              taken == OwnerLimits::Taken::kCounted, std::nullopt});
  Settle();
  return Added::kAdded;
}

TaskTable::Waiting* TaskTable::Find(const YieldToken& token) {
  const auto it = sequence_by_token_.find(token);
  return it == sequence_by_token_.end() ? nullptr
                                        : &waiting_.find(it->second)->second;
}

void TaskTable::End(const YieldToken& token, Ended ended,
                    uint32_t answered_by) {
  const auto it = sequence_by_token_.find(token);
  const auto waiting = waiting_.find(it->second);
  waiting_bytes_ -= waiting->second.bytes;
  ended.owner = waiting->second.yield.owner;
  if (waiting->second.is_owner_charged) {
    bytes_of_.Give(ended.owner, waiting->second.bytes);
  }
  waiting_.erase(waiting);
  sequence_by_token_.erase(it);
  if (const auto state = work_.StateOf(token)) {
    ended.attempts = state->attempts;
    ended.worker = state->worker_owner;
  }
  work_.Remove(token, answered_by);
  Remember(token, ended);
}

void TaskTable::Expect(const YieldToken& token, const Expected& expected) {
  const MutexLock lock(mutex_);
  expected_.emplace(token, expected);
}

void TaskTable::StopExpecting(const YieldToken& token) {
  const MutexLock lock(mutex_);
  EndExpected(token);
}

void TaskTable::EndExpected(const YieldToken& token) {
  const auto it = expected_.find(token);
  if (it == expected_.end()) return;
  const Expected& ended = it->second;
  Remember(token, {.owner = ended.owner,
                   .worker = ended.worker,
                   .attempts = ended.attempts});
  expected_.erase(it);
}

void TaskTable::Expire(const YieldToken& token) {
  const MutexLock lock(mutex_);
  if (Find(token) == nullptr) return;
  End(token, {}, /*answered_by=*/0);
  Settle();
}

CompleteAnswer TaskTable::CheckAttempt(const TaskToken& token) const {
  const auto state = work_.StateOf(token.yield);
  if (!state || token.attempt > state->attempts)
    return CompleteAnswer::kUnknown;
  return token.attempt != 0 && token.attempt < state->attempts
             ? CompleteAnswer::kSuperseded
             : CompleteAnswer::kAccepted;
}

std::optional<std::string> TaskTable::CommandOf(const YieldToken& token) const {
  const MutexLock lock(mutex_);
  const auto it = sequence_by_token_.find(token);
  if (it != sequence_by_token_.end()) {
    return waiting_.find(it->second)->second.yield.command;
  }
  const auto expected = expected_.find(token);
  if (expected == expected_.end()) return std::nullopt;
  return expected->second.command;
}

bool TaskTable::MayAnswer(const YieldToken& token, Owner by) const {
  if (by == Owner::kAny) return true;
  const MutexLock lock(mutex_);
  Ended of;
  if (const auto it = sequence_by_token_.find(token);
      it != sequence_by_token_.end()) {
    of.owner = waiting_.find(it->second)->second.yield.owner;
    if (const auto state = work_.StateOf(token))
      of.worker = state->worker_owner;
  } else if (const auto ended = ended_.find(token); ended != ended_.end()) {
    of = ended->second;
  } else if (const auto expected = expected_.find(token);
             expected != expected_.end()) {
    of = {.owner = expected->second.owner, .worker = expected->second.worker};
  } else {
    return false;
  }
  return of.owner == by || of.worker == by;
}

CompleteAnswer TaskTable::Complete(const TaskToken& token,
                                   const YieldResult& result) {
  const uint64_t fingerprint =
      log_ != nullptr && IsHomePid(token.yield.pid)
          ? log_->AnswerOf(static_cast<int32_t>(result.code),
                           ToAbi(result.payload))
                .low
          : HashOf(result);
  const MutexLock lock(mutex_);
  Waiting* const waiting = Find(token.yield);
  if (waiting == nullptr) return WhatBecame(token, fingerprint);
  const CompleteAnswer check = CheckAttempt(token);
  if (check != CompleteAnswer::kAccepted) return check;
  const CompleteAnswer answer =
      complete_(waiting->completion, result, /*is_answer=*/true);
  if (answer != CompleteAnswer::kAccepted) return answer;
  End(token.yield, {.answered = true, .fingerprint = fingerprint},
      token.attempt);
  Settle();
  return CompleteAnswer::kAccepted;
}

CompleteAnswer TaskTable::WhatBecame(const TaskToken& token,
                                     std::optional<uint64_t> fingerprint) {
  if (expected_.contains(token.yield)) return CompleteAnswer::kNotRestored;
  Forget(/*room=*/0);
  const auto it = ended_.find(token.yield);
  if (it == ended_.end()) return CompleteAnswer::kUnknown;
  const Ended& ended = it->second;
  if (token.attempt > ended.attempts) return CompleteAnswer::kUnknown;
  if (!ended.answered) return CompleteAnswer::kExpired;
  if (token.attempt != 0 && token.attempt < ended.attempts) {
    return CompleteAnswer::kSuperseded;
  }
  return fingerprint == ended.fingerprint ? CompleteAnswer::kDuplicate
                                          : CompleteAnswer::kConflict;
}

YieldFate TaskTable::FateOf(const YieldToken& token) {
  const MutexLock lock(mutex_);
  if (Find(token) != nullptr) return YieldFate::kWaiting;
  switch (WhatBecame({.yield = token}, std::nullopt)) {
    case CompleteAnswer::kNotRestored:
      return YieldFate::kWaiting;
    case CompleteAnswer::kConflict:
      return YieldFate::kAnswered;
    case CompleteAnswer::kExpired:
      return YieldFate::kEnded;
    default:
      return YieldFate::kUnknown;
  }
}

void TaskTable::Remember(const YieldToken& token, Ended ended,
                         uint64_t age_ns) {
  Forget(/*room=*/1);
  ended_.emplace(token, ended);
  memory_.push_back({token, clock_.MonotonicNs() - age_ns});
}

void TaskTable::RestoreAnswer(const YieldToken& token,
                              const StoredAnswer& answer, uint64_t age_ns) {
  const MutexLock lock(mutex_);
  Remember(token,
           {.answered = true,
            .owner = answer.owner,
            .worker = answer.worker,
            .attempts = answer.attempts,
            .fingerprint = answer.fingerprint.low},
           age_ns);
}

void TaskTable::Forget(size_t room) {
  const uint64_t now = clock_.MonotonicNs();
  const uint64_t ttl_ns = limits_.answered_yield_ttl_ns();
  while (!memory_.empty() &&
         (memory_.size() + room > limits_.answered_yield_max() ||
          now - memory_.front().since_ns >= ttl_ns)) {
    ended_.erase(memory_.front().token);
    memory_.pop_front();
  }
}

YieldPage TaskTable::List(const YieldFilter& filter, uint64_t first_sequence,
                          size_t page_size, size_t page_bytes) const {
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
    if (full || looked_at++ == kMaxLookedAt) {
      page.next_sequence = it->first;
      break;
    }
    if (!matches) continue;
    page.yields.push_back(it->second.yield);
    DescribeTask(page.yields.back());
  }
  return page;
}

size_t TaskTable::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace actord::runtime
