#include "runtime/delivery/quarantine.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::runtime {

void Quarantine::Enter(QuarantineEntry entry) {
  const MutexLock lock(mutex_);
  if (entry.sequence == 0) entry.sequence = next_++;
  sequences_[entry.pid] = entry.sequence;
  const uint64_t sequence = entry.sequence;
  members_.insert_or_assign(sequence, Member{std::move(entry), {}});
  size_.store(members_.size(), std::memory_order_seq_cst);
}

void Quarantine::Remove(Members::iterator member) {
  sequences_.erase(member->second.entry.pid);
  members_.erase(member);
  size_.store(members_.size(), std::memory_order_seq_cst);
}

std::optional<Quarantine::Left> Quarantine::LeaveIfAsked(const Pid& pid) {
  const MutexLock lock(mutex_);
  const auto found = sequences_.find(pid);
  if (found == sequences_.end()) return std::nullopt;
  const auto member = members_.find(found->second);
  if (member->second.waiting.empty()) return std::nullopt;
  Left left{member->second.entry, std::move(member->second.waiting)};
  Remove(member);
  return left;
}

void Quarantine::End(const Pid& pid) {
  std::vector<Retried> waiting;
  {
    const MutexLock lock(mutex_);
    const auto found = sequences_.find(pid);
    if (found == sequences_.end()) return;
    const auto member = members_.find(found->second);
    waiting = std::move(member->second.waiting);
    Remove(member);
  }
  const absl::Status ended =
      Error(absl::StatusCode::kFailedPrecondition, reason::kProcessEnded,
            absl::StrCat("process ", FormatPid(pid), " has ended"));
  for (Retried& done : waiting) std::move(done)(ended);
}

bool Quarantine::Ask(const Pid& pid, Retried& done, bool& wakes) {
  absl::Status abandoned;
  {
    const MutexLock lock(mutex_);
    const auto found = sequences_.find(pid);
    if (found == sequences_.end()) return false;
    abandoned = abandoned_;
    if (abandoned.ok()) {
      std::vector<Retried>& waiting = members_.at(found->second).waiting;
      wakes = waiting.empty();
      waiting.push_back(std::move(done));
      return true;
    }
  }
  wakes = false;
  std::move(done)(abandoned);
  return true;
}

void Quarantine::AbandonAll(const absl::Status& status) {
  std::vector<Retried> waiting;
  {
    const MutexLock lock(mutex_);
    abandoned_ = status;
    for (auto& [sequence, member] : members_) {
      for (Retried& done : member.waiting) waiting.push_back(std::move(done));
      member.waiting.clear();
    }
  }
  for (Retried& done : waiting) std::move(done)(status);
}

bool Quarantine::HasAmong(const Pid& pid) const {
  const MutexLock lock(mutex_);
  return sequences_.contains(pid);
}

absl::Status Quarantine::RefusalOf(const QuarantineEntry& entry) {
  return Error(absl::StatusCode::kFailedPrecondition,
               reason::kProcessQuarantined,
               absl::StrCat("process ", FormatPid(entry.pid),
                            " is in quarantine: ", entry.why));
}

absl::Status Quarantine::Refusal(const Pid& pid) const {
  if (size_.load(std::memory_order_seq_cst) == 0) return absl::OkStatus();
  const MutexLock lock(mutex_);
  const auto found = sequences_.find(pid);
  if (found == sequences_.end()) return absl::OkStatus();
  return RefusalOf(members_.at(found->second).entry);
}

std::string Quarantine::ReasonOf(const Pid& pid) const {
  const MutexLock lock(mutex_);
  const auto found = sequences_.find(pid);
  return found == sequences_.end() ? std::string()
                                   : members_.at(found->second).entry.why;
}

QuarantinePage Quarantine::List(const QuarantineFilter& filter,
                                uint64_t first_sequence,
                                size_t page_size) const {
  QuarantinePage page;
  size_t looked_at = 0;
  const MutexLock lock(mutex_);
  for (auto member = members_.lower_bound(first_sequence);
       member != members_.end(); ++member) {
    if (looked_at++ == kMaxLookedAt || page.entries.size() == page_size) {
      page.next_sequence = member->first;
      break;
    }
    const QuarantineEntry& entry = member->second.entry;
    if (!Sees(filter.by, entry.owner)) continue;
    if (!filter.process_type.empty() &&
        filter.process_type != entry.process_type) {
      continue;
    }
    page.entries.push_back(entry);
  }
  return page;
}

}  // namespace actord::runtime
