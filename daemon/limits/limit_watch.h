// Notices each second which limits are reached, and logs when a limit is
// reached and when it is free again. Nothing is counted just for it: it
// compares counters.
//
//   free ── it has refused something, or has no room ──► reached
//    ▲                                                      │
//    └── nothing was refused and there was room for 30 s ───┘
//
// So a limit writes at most two lines in 30 s.
//
// Thread-safety: Now from any thread; Look from one thread at a time; Start,
// Stop and the destructor are for one thread. Ownership: owns its thread,
// borrows everything else.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/limits/limit_use.h"
#include "daemon/limits/own_use.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class LimitWatch {
 public:
  static constexpr uint64_t kLookNs = 1'000'000'000;
  // A limit is free when it has refused nothing for this long.
  static constexpr uint64_t kCalmNs = 30'000'000'000;

  struct Parts {
    std::function<std::vector<LimitUse>()> read;
    std::function<OwnUse()> own;
  };
  LimitWatch(Parts parts, Logger& logger, const runtime::Clock& clock);
  ~LimitWatch() { Stop(); }
  LimitWatch(const LimitWatch&) = delete;
  LimitWatch& operator=(const LimitWatch&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // After Stop nothing is logged, and the parts are used by Now alone.
  // Idempotent.
  void Stop();
  // Reads the limits once.
  void Look();

  struct Limit {
    LimitUse use;
    uint64_t full_since_unix_ns = 0;  // 0: it is not reached
  };
  struct State {
    std::vector<Limit> limits;
    OwnUse own;
    // Processors that the daemon kept busy between the last two looks.
    double cpu_busy = 0;
  };
  // The limits as they are at this moment.
  [[nodiscard]] State Now() const;
  // One sentence for each limit that is reached.
  [[nodiscard]] std::vector<std::string> Notes() const;

 private:
  struct Seen {
    uint64_t refused = 0;  // at the last look
    // While it is reached:
    uint64_t full_since_unix_ns = 0;  // 0: it is not reached
    uint64_t full_since_ns = 0;
    uint64_t refused_before = 0;
    uint64_t last_hit_ns = 0;
  };

  void Run();
  void Look(const LimitUse& use, Seen& seen);
  void Measure();

  const Parts parts_;
  Logger& logger_;
  const runtime::Clock& clock_;
  mutable absl::Mutex mutex_;
  // By the place of the limit in the list.
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t measured_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: never
  uint64_t measured_cpu_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  double cpu_busy_ ABSL_GUARDED_BY(mutex_) = 0;
  // Stop writes it, the thread reads it. Relaxed: the parker orders the write
  // before the read.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
