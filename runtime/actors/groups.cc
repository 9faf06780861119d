#include "runtime/actors/groups.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

absl::Status Full(const std::string& what) {
  return Error(absl::StatusCode::kResourceExhausted, reason::kInvalidField,
               what);
}

}  // namespace

absl::Status Groups::Join(std::string_view group, const Pid& pid,
                          Commit commit) {
  const std::optional<Owner> owner = processes_.OwnerOf(pid);
  if (!owner) return processes_.WhyNotFound(pid, Owner::kAny);
  return JoinOf(*owner, group, pid, commit);
}

absl::Status Groups::JoinOf(Owner owner, std::string_view group, const Pid& pid,
                            Commit commit) {
  absl::Status status = CheckName("group", group);
  if (!status.ok()) return status;
  const MutexLock lock(mutex_);
  auto it = members_.find(OwnedNameView{owner, group});
  if (it != members_.end()) {
    if (it->second.contains(pid)) return absl::OkStatus();
    if (it->second.size() >= kMaxMembers) {
      return Full(absl::StrCat("group ", ToAbsl(group), " has ", kMaxMembers,
                               " members, which is the limit"));
    }
  }
  const auto of_process = groups_.find(pid);
  if (of_process != groups_.end() &&
      of_process->second.size() >= kMaxOfProcess) {
    return Full(absl::StrCat("the process is in ", kMaxOfProcess,
                             " groups, which is the limit"));
  }
  if (!commit()) return CommitRefused();
  if (it == members_.end()) {
    it = members_.emplace(OwnedName{owner, std::string(group)}, std::set<Pid>())
             .first;
  }
  it->second.insert(pid);
  groups_[pid].push_back(it);
  if (processes_.Want(pid, Owner::kAny, Wanted::kGrouped)) {
    return absl::OkStatus();
  }
  Erase(it, pid);
  return processes_.WhyNotFound(pid, Owner::kAny);
}

void Groups::Erase(MembersByGroup::iterator group, const Pid& pid) {
  const auto it = groups_.find(pid);
  ACTORD_ASSERT(it != groups_.end(), "groups.h: the process is a member");
  std::erase(it->second, group);
  if (it->second.empty()) groups_.erase(it);
  group->second.erase(pid);
  if (group->second.empty()) members_.erase(group);
}

absl::Status Groups::Leave(std::string_view group, const Pid& pid,
                           Commit commit) {
  const MutexLock lock(mutex_);
  if (const auto of_process = groups_.find(pid); of_process != groups_.end()) {
    for (const MembersByGroup::iterator joined : of_process->second) {
      if (joined->first.text != group) continue;
      if (!commit()) return CommitRefused();
      Erase(joined, pid);
      return absl::OkStatus();
    }
  }
  return Error(absl::StatusCode::kNotFound, reason::kNameNotFound,
               absl::StrCat("process ", FormatPid(pid), " is not in group ",
                            ToAbsl(group)));
}

std::vector<Pid> Groups::Members(Owner owner, std::string_view group) const {
  std::vector<Pid> members;
  const MutexLock lock(mutex_);
  const auto it = members_.find(OwnedNameView{owner, group});
  if (it == members_.end()) return members;
  for (const Pid& pid : it->second) {
    if (processes_.Lives(pid)) members.push_back(pid);
  }
  return members;
}

void Groups::OnEnd(const EndRecord& end, Lane& /*lane*/) {
  const Pid& pid = end.pid;
  const MutexLock lock(mutex_);
  const auto it = groups_.find(pid);
  if (it == groups_.end()) return;
  for (const MembersByGroup::iterator group : it->second) {
    group->second.erase(pid);
    if (group->second.empty()) members_.erase(group);
  }
  groups_.erase(it);
}

size_t Groups::size() const {
  const MutexLock lock(mutex_);
  return members_.size();
}

}  // namespace actord::runtime
