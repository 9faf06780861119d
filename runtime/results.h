// How processes ended, for whoever awaits them: kept for a while, within a
// limit of bytes, the oldest forgotten first.
//
// Thread-safety: any thread. Callbacks run on the thread that calls Put, or on
// the one that calls Await, never under a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/options.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class Results {
 public:
  using Callback = Runtime::AwaitCallback;
  using Id = Runtime::AwaitId;

  Results(const RuntimeOptions& options, const Clock& clock);

  // The process has ended. Stores the outcome if `keep`, and calls back whoever
  // awaits it. `end` is called once, in the same critical section, and makes
  // the process unfindable: so nobody finds neither the process nor its result.
  void Put(const Pid& pid, const Outcome& outcome, bool keep,
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
  static constexpr size_t kShards = 16;

  struct Waiter {
    Id id = 0;
    Callback done;
  };
  struct Kept {
    Pid pid;
    uint64_t forget_at_ns = 0;
    size_t bytes = 0;
  };
  struct Shard {
    mutable Mutex mutex;
    absl::flat_hash_map<Pid, Outcome> outcomes ABSL_GUARDED_BY(mutex);
    // Of outcomes, oldest first.
    std::deque<Kept> order ABSL_GUARDED_BY(mutex);
    size_t bytes ABSL_GUARDED_BY(mutex) = 0;
    absl::flat_hash_map<Pid, std::vector<Waiter>> waiters
        ABSL_GUARDED_BY(mutex);
  };

  Shard& ShardOf(const Pid& pid);
  void Keep(Shard& shard, const Pid& pid, const Outcome& outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  void Forget(Shard& shard, uint64_t now_ns, size_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);

  const Clock& clock_;
  const uint64_t ttl_ns_;
  const size_t max_bytes_a_shard_;
  std::atomic<Id> next_id_{1};
  std::array<Shard, kShards> shards_;
};

}  // namespace actord::runtime
