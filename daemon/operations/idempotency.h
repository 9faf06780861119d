// Remembers which id started or reached which process. So a repeated Submit
// (request_id) or Send (message_id) gets the answer of the first call, and
// makes no second process or message.
//
// An id is *in flight* from its first Begin until End, and *remembered* after
// an End with success. A failure is not remembered: it had no effect, and the
// next call with that id is a first call again.
//
// Bounds: a remembered id is forgotten after `ttl`. When there would be more
// than `max_ids` remembered ids, the oldest is forgotten. The ids in flight are
// limited by the unary calls in progress, which the server limits, and by the
// outstanding submissions of each stream.
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
    kFirst,   // the caller carries out the request and calls End exactly once
    kRepeat,  // `callback` has been or will be called with the first answer
    kReused,  // the id belongs to a request with another body
  };
  // `fingerprint` is a hash of the request's body. `callback` is used only for
  // kRepeat.
  Role Begin(const std::string& id, uint64_t fingerprint, Callback callback);
  // Ends the flight of `id`, and calls the callbacks of all repeats with the
  // answer.
  void End(const std::string& id, const absl::StatusOr<runtime::Pid>& answer);

  // Number of ids that are remembered or in flight.
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
  // One entry for each remembered id, the oldest first.
  std::deque<Expiry> expiries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
