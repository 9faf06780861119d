// Keeps the results of ended processes for Await: for a limited time, within a
// limit of bytes. The oldest are dropped first.
//
// An OutcomeTable stores the results. This class keeps the awaiters, and
// decides how long a result is kept.
//
// The next Put or Await drops results that are too old. The watchdog calls Trim
// at NextExpiryNs, so an idle daemon drops its results, too.
//
// Thread-safety: any thread. Callbacks run on the thread that calls Put, Await
// or AbandonAll, never under a lock.
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
#include "runtime/process/listed/ended_info.h"
#include "runtime/process/listed/type_names.h"
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

  // `first_is_kept` is called after a Put that has kept a result when no other
  // result was kept.
  Results(
      const LiveLimits& limits, const Clock& clock,
      std::function<void()> first_is_kept = [] {});

  // Stores the outcome of an ended process if `keep`, and calls back its
  // awaiters. `end` is called once, with the outcome, in the same critical
  // section, and makes the process unfindable. So an Await finds either the
  // process or, if it is kept, its result.
  void Put(const Pid& pid, Outcome&& outcome, bool keep,
           absl::FunctionRef<void(const Outcome&)> end);

  // Calls back when `pid` has ended. If `is_live`, which is called under the
  // lock, returns false, calls back at once, with the result, or with what
  // `not_kept` returns if no result that `by` sees is kept.
  Id Await(Owner by, const Pid& pid, Callback done,
           absl::FunctionRef<bool()> is_live,
           absl::FunctionRef<absl::StatusOr<Outcome>()> not_kept);
  // The same, but if the process has ended and no result that `by` sees is
  // kept, `not_kept` gets the callback, which it calls now or later. Cancel
  // does not know this callback.
  Id AwaitOr(Owner by, const Pid& pid, Callback done,
             absl::FunctionRef<bool()> is_live,
             absl::FunctionRef<void(Callback&&)> not_kept);
  // True: the callback will not run.
  bool Cancel(const Pid& pid, Id id);
  // Calls back all awaiters that still wait, with `status`.
  void AbandonAll(const absl::Status& status);

  // A page of the kept results, the newest first, from below the number
  // `before`; 0: from the newest on. A result that is kept during the whole
  // walk over all pages is listed once, and one that comes meanwhile is not.
  // One call looks at kMaxLookedAt results at most, a few at a time.
  [[nodiscard]] EndedPage List(const EndedFilter& filter, uint64_t before,
                               size_t page_size, const TypeNames& names) const;

  // The monotonic time at which the oldest kept result becomes too old; kNever:
  // there is no result, or results never become too old. Takes no lock.
  [[nodiscard]] uint64_t NextExpiryNs() const;
  // Drops all results that are too old, and the oldest results above a limit
  // that was lowered. Drops kForgottenAtOnce at a time.
  void Trim();

  [[nodiscard]] size_t kept() const;
  [[nodiscard]] size_t bytes() const;

 private:
  // Trim releases the lock after this number of results.
  static constexpr size_t kForgottenAtOnce = 1024;

  // List releases the lock after this number of results.
  static constexpr size_t kLookedAtOnce = 64;

  struct Waiter {
    Id id = 0;
    Callback done;
  };
  // Looks at the next results below page.next. False: the page is complete.
  bool ListSome(const EndedFilter& filter, uint16_t type, size_t page_size,
                EndedPage& page, std::vector<uint16_t>& types) const;
  // Called without the lock, because it is only a hint.
  [[nodiscard]] bool WantsBlock() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return kept_.WantsBlock();
  }
  // Removes and returns the awaiters of the process.
  std::vector<Waiter> TakeWaiters(const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops the results that are too old, and then the oldest until `room_bytes`
  // fit.
  void Forget(uint64_t now_ns, size_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the oldest result is too old, or must be dropped to make room for
  // `room_bytes`.
  [[nodiscard]] bool IsOldestDue(uint64_t now_ns, size_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LiveLimits& limits_;
  const Clock& clock_;
  const std::function<void()> first_is_kept_;

  // since_ns of the oldest result; kNever: there is none. Written under the
  // lock, read by NextExpiryNs. The store that replaces kNever is seq_cst:
  // first_is_kept_ runs after it and reads whether the reader rests; the reader
  // announces its rest before it reads this time (watchdog.h). Other stores are
  // relaxed: a stale, earlier time costs the reader one useless check.
  std::atomic<uint64_t> oldest_since_ns_{kNever};

  mutable Mutex mutex_;
  Id next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  OutcomeTable kept_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Pid, std::vector<Waiter>> waiters_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
