// Groups of processes and their members. Groups work like names (names.h), but
// with many holders. All members of a group have the same owner.
//
// Thread-safety: any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime/actors/names.h"
#include "runtime/actors/owned_name.h"
#include "runtime/process/end_record.h"
#include "runtime/process/owner.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class Groups {
 public:
  static constexpr size_t kMaxMembers = 4096;
  // Maximum number of groups of one process.
  static constexpr size_t kMaxOfProcess = 64;

  explicit Groups(const ProcessTable& processes) : processes_(processes) {}
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // OK: the process is now a member, or was already. FAILED_PRECONDITION: the
  // process does not live. RESOURCE_EXHAUSTED: one of the two limits is
  // reached. INVALID_ARGUMENT: `group` is not a valid name.
  // `commit`: see names.h.
  absl::Status Join(std::string_view group, const Pid& pid,
                    Commit commit = kNoCommit);
  // Same as Join, for a process of `owner` that may be dormant.
  absl::Status JoinOf(Owner owner, std::string_view group, const Pid& pid,
                      Commit commit = kNoCommit);
  // NOT_FOUND: the process is not a member.
  absl::Status Leave(std::string_view group, const Pid& pid,
                     Commit commit = kNoCommit);
  // The members that live, in the order of their PIDs, of the owner's group.
  [[nodiscard]] std::vector<Pid> Members(Owner owner,
                                         std::string_view group) const;

  // Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kGrouped;
  static constexpr bool kEndNeedsOutcome = false;
  void OnEnd(const EndRecord& end, Lane& lane);

  [[nodiscard]] size_t size() const;

 private:
  using MembersByGroup = std::map<OwnedName, std::set<Pid>, std::less<>>;

  // Precondition: the process is a member.
  void Erase(MembersByGroup::iterator group, const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessTable& processes_;
  mutable Mutex mutex_;
  MembersByGroup members_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Pid, std::vector<MembersByGroup::iterator>> groups_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
