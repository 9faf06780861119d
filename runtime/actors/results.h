// How processes ended, for whoever awaits them: kept for a while, within a
// limit of bytes, the oldest forgotten first.
//
// The results lie in an OutcomeTable; this class keeps who waits for one, and
// decides how long a result is kept.
//
// A result that has become too old is forgotten by the next Put or Await, and
// by Trim, which the watchdog calls when NextExpiryNs has come: so an idle
// daemon forgets its results, too.
//
// Thread-safety: any thread. Callbacks run on the thread that calls Put, or on
// the one that calls Await, never under a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "runtime/actors/outcome_table.h"
#include "runtime/process/callbacks.h"
#include "runtime/process/outcome.h"
#include "runtime/settings/limits.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Results {
 public:
  using Callback = AwaitCallback;
  using Id = AwaitId;

  static constexpr uint64_t kNever = UINT64_MAX;

  // `first_is_kept` is called after a Put that has kept a result while none was
  // kept.
  Results(
      const LiveLimits& limits, const Clock& clock,
      std::function<void()> first_is_kept = [] {});

  // The process has ended. Stores the outcome if `keep`, and calls back whoever
  // awaits it. `end` is called once, with the outcome, in the same critical
  // section, and makes the process unfindable: so nobody finds neither the
  // process nor its result.
  void Put(const Pid& pid, Outcome&& outcome, bool keep,
           absl::FunctionRef<void(const Outcome&)> end);

  // Calls back when `pid` has ended: at once, with the result or, if none is
  // kept, with `not_found`'s status, if `is_live`, which is called under the
  // lock, says no.
  Id Await(const Pid& pid, Callback done, absl::FunctionRef<bool()> is_live,
           absl::FunctionRef<absl::Status()> not_found);
  // True: the callback will not run.
  bool Cancel(const Pid& pid, Id id);
  // Calls back everybody who still waits, with `status`.
  void AbandonAll(const absl::Status& status);

  // When the oldest result that is kept becomes too old, by the monotonic
  // clock; kNever: there is none, or it never does. Takes no lock.
  [[nodiscard]] uint64_t NextExpiryNs() const;
  // Forgets all that are too old, and of the others the oldest that are too
  // much for a limit that was lowered; some at a time.
  void Trim();

  [[nodiscard]] size_t kept() const;
  [[nodiscard]] size_t bytes() const;

 private:
  // Trim lets others have the lock after as many.
  static constexpr size_t kForgottenAtOnce = 1024;

  struct Waiter {
    Id id = 0;
    Callback done;
  };
  // Without the lock: a hint.
  [[nodiscard]] bool WantsBlock() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return kept_.WantsBlock();
  }
  // Whoever awaits the process; they wait no more.
  std::vector<Waiter> TakeWaiters(const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets what is too old, and more of the oldest until there is room.
  void Forget(uint64_t now_ns, size_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The oldest has to go, so that there is room for as many bytes.
  [[nodiscard]] bool IsOldestDue(uint64_t now_ns, size_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LiveLimits& limits_;
  const Clock& clock_;
  const std::function<void()> first_is_kept_;

  // since_ns of the oldest; kNever: there is none. Written under the lock, read
  // by NextExpiryNs. seq_cst where it stops being kNever: first_is_kept_ comes
  // after it, and then looks whether the reader rests, which has said so before
  // it read (watchdog.h). Otherwise relaxed: a stale, earlier one costs a look.
  std::atomic<uint64_t> oldest_since_ns_{kNever};

  mutable Mutex mutex_;
  Id next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  OutcomeTable kept_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Pid, std::vector<Waiter>> waiters_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
