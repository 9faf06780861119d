// Groups of processes: who is in which. Like names (names.h), but with many
// holders.
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
#include "runtime/process/end_record.h"
#include "runtime/process/process_table.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Groups {
 public:
  static constexpr size_t kMaxMembers = 4096;
  // Of one process.
  static constexpr size_t kMaxOfProcess = 64;

  explicit Groups(const ProcessTable& processes) : processes_(processes) {}
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // OK: it is a member now, or was one before. FAILED_PRECONDITION: it does not
  // live. RESOURCE_EXHAUSTED: one of the two limits. INVALID_ARGUMENT: no name.
  absl::Status Join(std::string_view group, const Pid& pid);
  // NOT_FOUND: it is no member.
  absl::Status Leave(std::string_view group, const Pid& pid);
  // Those that live, in the order of their PIDs.
  [[nodiscard]] std::vector<Pid> Members(std::string_view group) const;

  // Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kGrouped;
  static constexpr bool kEndNeedsOutcome = false;
  void OnEnd(const EndRecord& end, Lane& lane);

  [[nodiscard]] size_t size() const;

 private:
  using MembersByGroup = std::map<std::string, std::set<Pid>, std::less<>>;

  // Precondition: it is a member.
  void Erase(MembersByGroup::iterator group, const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessTable& processes_;
  mutable Mutex mutex_;
  MembersByGroup members_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Pid, std::vector<MembersByGroup::iterator>> groups_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
