// The log of refused calls, which strangers can cause at any rate: at most one
// line in a minute for each token, reason and method, and apart for calls that
// are served nevertheless. The next line of that
// kind says how many refusals were not logged.
//
// Bounds: the log remembers kMaxKinds kinds of refusals. Beyond that, all
// further kinds share one line in a minute.
//
// Thread-safety: any thread. Ownership: borrows the logger and the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class RefusalLog {
 public:
  static constexpr size_t kMaxKinds = 1000;

  RefusalLog(Logger& logger, const runtime::Clock& clock)
      : logger_(logger), clock_(clock) {}

  struct Kind {
    // The ID of a token that the daemon knows; "": any other caller.
    std::string_view token_id;
    std::string_view reason;
    std::string_view method;
    // The call was served nevertheless.
    bool observed = false;
  };
  void Say(const Kind& kind, std::string_view text);

 private:
  struct Spaced {
    uint64_t next_ns = 0;
    uint64_t unsaid = 0;
  };

  Spaced& Find(std::string key, uint64_t now_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Logger& logger_;
  const runtime::Clock& clock_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Spaced> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
