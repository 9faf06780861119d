#include "runtime/actors/names.h"

#include <actord/text.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

absl::Status CheckName(std::string_view field, std::string_view name) {
  if (IsName(name)) return absl::OkStatus();
  return InvalidField(field, reason::kInvalidField,
                      absl::StrCat("a name is ", ToAbsl(kNameRule)));
}

absl::Status CommitRefused() {
  return Retryable(absl::StatusCode::kUnavailable, reason::kStopped,
                   "the store is closed, because the daemon ends",
                   absl::Seconds(1));
}

absl::Status Names::Register(std::string_view name, const Pid& pid, Pid& holder,
                             Commit commit) {
  absl::Status status = CheckName("name", name);
  if (!status.ok()) return status;
  const std::optional<Owner> owner = processes_.OwnerOf(pid);
  if (!owner) return processes_.WhyNotFound(pid, Owner::kAny);
  return Enter(name, *owner, pid, holder, commit);
}

absl::Status Names::RegisterNew(std::string_view name, Owner owner,
                                const Pid& pid, Pid& holder, Commit commit) {
  absl::Status status = CheckName("name", name);
  if (!status.ok()) return status;
  return Enter(name, owner, pid, holder, commit);
}

absl::Status Names::Enter(std::string_view name, Owner owner, const Pid& pid,
                          Pid& holder, Commit commit) {
  const MutexLock lock(mutex_);
  auto it = holders_.find(OwnedNameView{owner, name});
  if (it != holders_.end()) {
    if (it->second.pid == pid) return absl::OkStatus();
    if (processes_.Lives(it->second.pid)) {
      holder = it->second.pid;
      return NameTaken(name, FormatPid(holder));
    }
    Erase(it);  // the holder has ended and is about to release the name
  }
  std::vector<Holders::iterator>& names = names_[pid];
  if (names.size() >= kMaxOfProcess) {
    return Error(absl::StatusCode::kResourceExhausted, reason::kInvalidField,
                 absl::StrCat("the process holds ", kMaxOfProcess,
                              " names, which is the limit"));
  }
  if (!commit()) {
    if (names.empty()) names_.erase(pid);
    return CommitRefused();
  }
  const uint64_t sequence = next_sequence_++;
  it = holders_
           .emplace(OwnedName{owner, std::string(name)}, Holder{pid, sequence})
           .first;
  by_age_.emplace(sequence, it);
  names.push_back(it);
  if (processes_.Want(pid, Owner::kAny, Wanted::kNamed)) {
    return absl::OkStatus();
  }
  Erase(it);
  return processes_.WhyNotFound(pid, Owner::kAny);
}

void Names::Erase(Holders::iterator name) {
  const auto it = names_.find(name->second.pid);
  std::erase(it->second, name);
  if (it->second.empty()) names_.erase(it);
  by_age_.erase(name->second.sequence);
  holders_.erase(name);
}

absl::Status Names::Release(std::string_view name, const Pid& pid,
                            Commit commit) {
  const MutexLock lock(mutex_);
  if (const auto of_process = names_.find(pid); of_process != names_.end()) {
    for (const Holders::iterator held : of_process->second) {
      if (held->first.text != name) continue;
      if (!commit()) return CommitRefused();
      Erase(held);
      return absl::OkStatus();
    }
  }
  return Error(
      absl::StatusCode::kNotFound, reason::kNameNotFound,
      absl::StrCat("process ", FormatPid(pid), " does not hold the name \"",
                   ToAbsl(CutUtf8(name, kMaxNameBytes)), "\""));
}

std::optional<std::string> Names::NameOf(const Pid& pid) const {
  const MutexLock lock(mutex_);
  const auto it = names_.find(pid);
  if (it == names_.end() || it->second.empty()) return std::nullopt;
  return it->second.front()->first.text;
}

std::vector<std::string> Names::NamesOf(const Pid& pid, size_t max) const {
  std::vector<std::string> names;
  const MutexLock lock(mutex_);
  const auto it = names_.find(pid);
  if (it == names_.end()) return names;
  for (const Holders::iterator held : it->second) {
    if (names.size() == max) break;
    names.push_back(held->first.text);
  }
  return names;
}

absl::StatusOr<Pid> Names::Find(Owner owner, std::string_view name) const {
  {
    const MutexLock lock(mutex_);
    const auto it = holders_.find(OwnedNameView{owner, name});
    if (it != holders_.end() && processes_.Lives(it->second.pid)) {
      return it->second.pid;
    }
  }
  return Error(absl::StatusCode::kNotFound, reason::kNameNotFound,
               absl::StrCat("no process holds the name \"",
                            ToAbsl(CutUtf8(name, kMaxNameBytes)), "\""));
}

std::vector<std::string> Names::Near(Owner owner, std::string_view name) const {
  std::vector<std::string> near;
  const MutexLock lock(mutex_);
  const auto add = [&](const Holders::value_type& held) {
    if (processes_.Lives(held.second.pid)) near.push_back(held.first.text);
  };
  const auto middle = holders_.lower_bound(OwnedNameView{owner, name});
  auto it = middle;
  for (size_t i = 0; i < kMaxNear && it != holders_.begin(); ++i) {
    --it;
    if (it->first.owner != owner) break;
    add(*it);
  }
  it = middle;
  for (size_t i = 0;
       i < kMaxNear && it != holders_.end() && it->first.owner == owner; ++i) {
    add(*it);
    ++it;
  }
  return near;
}

NamePage Names::List(Owner by, std::string_view prefix, uint64_t first_sequence,
                     size_t page_size) const {
  NamePage page;
  size_t looked_at = 0;
  const MutexLock lock(mutex_);
  for (auto it = by_age_.lower_bound(first_sequence); it != by_age_.end();
       ++it) {
    if (page.names.size() == page_size || looked_at++ == kMaxLookedAt) {
      page.next_sequence = it->first;
      break;
    }
    const auto& [name, holder] = *it->second;
    if (!Sees(by, name.owner) || !name.text.starts_with(prefix) ||
        !processes_.Lives(holder.pid)) {
      continue;
    }
    page.names.push_back({name.text, holder.pid, name.owner});
  }
  return page;
}

void Names::OnEnd(const EndRecord& end, Lane& /*lane*/) {
  const MutexLock lock(mutex_);
  const auto it = names_.find(end.pid);
  if (it == names_.end()) return;
  for (const Holders::iterator name : it->second) {
    by_age_.erase(name->second.sequence);
    holders_.erase(name);
  }
  names_.erase(it);
}

size_t Names::size() const {
  const MutexLock lock(mutex_);
  return holders_.size();
}

}  // namespace actord::runtime
