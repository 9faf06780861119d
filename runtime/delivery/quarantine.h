// The processes in quarantine, with the reasons. A process in quarantine keeps
// its image, its mailbox, its name and its ties. It accepts messages, and takes
// no step. It leaves quarantine when a retry restores its state, or when it
// ends.
//
// The turn of the process enters and leaves (durable_turn.h), and the recovery
// enters before the threads start. Threads outside of the turn read this table:
//
// (1) A process enters before its turn fails the calls in its mailbox. A caller
//     first delivers its call and then reads the table. So either the turn
//     finds the call, or the caller finds the quarantine.
// (2) A process leaves before its turn drops the calls that it still finds. So
//     no call runs whose caller was told of the quarantine. (Not asserted: a
//     call may come meanwhile. The order is in DurableTurn::Leave.)
//
// Thread-safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/process/process_info.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Quarantine {
 public:
  // Calls back once, on any thread, and must not block. OK: the process has
  // left the quarantine, and takes steps. PROCESS_QUARANTINED: it is still in
  // quarantine, for the reason in the text. PROCESS_ENDED; DRAINING.
  using Retried = absl::AnyInvocable<void(const absl::Status&) &&>;

  Quarantine() = default;
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  // A process with `entry.sequence` 0 is new, and gets the next number. A
  // process that was here before keeps its number and its time.
  void Enter(QuarantineEntry entry);
  // The data of a process that leaves.
  struct Left {
    QuarantineEntry entry;
    // The callers that wait for the retry.
    std::vector<Retried> waiting;
  };
  // Leaves, if a retry was requested. Otherwise nullopt.
  std::optional<Left> LeaveIfAsked(const Pid& pid);
  // To be called when the process has ended. Calls back the callers that wait
  // for a retry.
  void End(const Pid& pid);

  // Notes that `done` waits for a retry of the process. False: the process is
  // not in quarantine, and `done` is unchanged. `wakes`: the caller must wake
  // the process (kEventUpgrade).
  [[nodiscard]] bool Ask(const Pid& pid, Retried& done, bool& wakes);
  // Calls back all waiting callers, with `status`. Later calls of Ask get it,
  // too.
  void AbandonAll(const absl::Status& status);

  [[nodiscard]] bool Has(const Pid& pid) const {
    // Sequentially consistent: see (1).
    return size_.load(std::memory_order_seq_cst) != 0 && HasAmong(pid);
  }
  // PROCESS_QUARANTINED with the reason of the entry.
  static absl::Status RefusalOf(const QuarantineEntry& entry);
  // The same for a PID; OK: the process is not in quarantine.
  [[nodiscard]] absl::Status Refusal(const Pid& pid) const;
  // Why the process is in quarantine; "": it is not.
  [[nodiscard]] std::string ReasonOf(const Pid& pid) const;
  [[nodiscard]] uint64_t size() const {
    return size_.load(std::memory_order_relaxed);
  }

  // Lists a page from `first_sequence` on, the processes that entered first at
  // the front. Returns at most `page_size` entries, and examines at most
  // kMaxLookedAt.
  [[nodiscard]] QuarantinePage List(const QuarantineFilter& filter,
                                    uint64_t first_sequence,
                                    size_t page_size) const;

 private:
  struct Member {
    QuarantineEntry entry;
    std::vector<Retried> waiting;
  };
  using Members = std::map<uint64_t, Member>;

  [[nodiscard]] bool HasAmong(const Pid& pid) const;
  void Remove(Members::iterator member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  Members members_ ABSL_GUARDED_BY(mutex_);  // by their sequences
  absl::flat_hash_map<Pid, uint64_t> sequences_ ABSL_GUARDED_BY(mutex_);
  absl::Status abandoned_ ABSL_GUARDED_BY(mutex_);
  // Size of members_. Written under mutex_.
  std::atomic<uint64_t> size_{0};
};

}  // namespace actord::runtime
