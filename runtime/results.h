// How processes ended, for whoever awaits them: kept for a while, within a
// limit of bytes, the oldest forgotten first.
//
// Thread-safety: any thread. Callbacks run on the thread that calls Put, or on
// the one that calls Await, never under a lock.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "runtime/clock.h"
#include "runtime/limits.h"
#include "runtime/mutex.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class Results {
 public:
  using Callback = Runtime::AwaitCallback;
  using Id = Runtime::AwaitId;

  Results(const LiveLimits& limits, const Clock& clock);

  // The process has ended. Stores the outcome if `keep`, and calls back whoever
  // awaits it. `end` is called once, in the same critical section, and makes
  // the process unfindable: so nobody finds neither the process nor its result.
  void Put(const Pid& pid, Outcome outcome, bool keep,
           absl::FunctionRef<void()> end);

  // Calls back at once with a kept result, or when `pid` has ended. `is_live`
  // is called under the lock if there is no result yet; if it says no, the
  // callback gets `not_found`'s status.
  Id Await(const Pid& pid, Callback done, absl::FunctionRef<bool()> is_live,
           absl::FunctionRef<absl::Status()> not_found);
  // True: the callback will not run.
  bool Cancel(const Pid& pid, Id id);
  // Calls back everybody who still waits, with `status`.
  void AbandonAll(const absl::Status& status);

  [[nodiscard]] size_t kept() const;
  [[nodiscard]] size_t bytes() const;

 private:
  struct Waiter {
    Id id = 0;
    Callback done;
  };
  struct Kept {
    Pid pid;
    uint64_t since_ns = 0;
    size_t charge_bytes = 0;
    Outcome outcome;
  };

  // Whoever awaits the process; they wait no more.
  std::vector<Waiter> TakeWaiters(const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets what is too old, and more of the oldest until there is room.
  void Forget(uint64_t now_ns, size_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LiveLimits& limits_;
  const Clock& clock_;

  mutable Mutex mutex_;
  Id next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  // Oldest first. The first is number `forgotten_`.
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  uint64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  // The numbers of those in kept_: small, so that the table stays in the
  // caches for longer and costs little when it grows.
  absl::flat_hash_map<Pid, uint64_t> numbers_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<Pid, std::vector<Waiter>> waiters_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
