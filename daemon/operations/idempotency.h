// Remembers which id started or reached which process, so that a repeated
// Submit (request_id) or Send (message_id) gets the first one's answer instead
// of a second process or message.
//
// An id is *in flight* from its first Begin until End, and *remembered* after
// an End with success. A failure is not remembered: nothing has happened, and
// the next call with that id is a first call again.
//
// Bounds: ids remembered are forgotten after `ttl`, and the oldest when there
// would be more than `max_ids`. Ids in flight are as many as there are unary
// calls under way, which the server limits, and for each stream as many
// submissions as may be outstanding.
//
// Thread-safety: every function may be called from any thread. Callbacks run
// without the lock, on the thread that calls Begin or End.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/process/pid.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class RequestIds {
 public:
  using Callback =
      absl::AnyInvocable<void(const absl::StatusOr<runtime::Pid>&) &&>;

  // `clock` is borrowed.
  RequestIds(absl::Duration ttl, size_t max_ids, const runtime::Clock& clock);

  enum class Role {
    kFirst,   // the caller carries the request out and calls End exactly once
    kRepeat,  // `callback` has been or will be called with the first's answer
    kReused,  // the id belongs to a request with another body
  };
  // `fingerprint` is a hash of the request's body. `callback` is taken only of
  // a kRepeat.
  Role Begin(const std::string& id, uint64_t fingerprint, Callback callback);
  // Calls the callbacks of all repeats with the answer.
  void End(const std::string& id, const absl::StatusOr<runtime::Pid>& answer);

  // Ids remembered or in flight.
  [[nodiscard]] size_t size() const;

 private:
  struct Entry {
    uint64_t fingerprint = 0;
    bool in_flight = true;
    runtime::Pid answer;
    std::vector<Callback> waiting;
  };
  struct Expiry {
    uint64_t at_ns = 0;
    std::string id;
  };

  void ForgetOld(uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t ttl_ns_;
  const size_t max_ids_;
  const runtime::Clock& clock_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // One for each id that is remembered, oldest first.
  std::deque<Expiry> expiries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
