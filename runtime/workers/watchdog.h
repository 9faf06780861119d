// Looks after workers whose thread a plugin keeps: a call that has gone on for
// 10 ms loses its worker to another thread, and the process type is named in
// the log.
//
// It is also the timekeeper of last resort. While the workers that are awake
// are kept in steps, a timer that is 1 ms late wakes one that sleeps; and if
// none sleeps, one that is 2 ms late is fired here.
//
// It looks more often after something happened (20 µs; after a rest 2 ms) and
// less often while nothing does (up to 10 ms, 1 ms if there are timers and a
// worker is in a call), as Go's sysmon does; when every worker sleeps, it
// rests, until one wakes.
//
// And it has results forgotten that have become too old. A rest ends for that,
// too, and goes on afterwards.
//
// Thread-safety: CheckAll from one thread at a time; WorkerWoke from any.
// performance-notes: Rare code moved out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/actors/results.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/hold.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/settings/options.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/parker.h"
#include "runtime/system/thread.h"
#include "runtime/yields/due_timers.h"

namespace actord::runtime {

class WorkerThreads;

class Watchdog {
 public:
  using Policy = SchedulerPolicy;
  using Log = std::function<void(LogLevel, std::string_view)>;

  // `lane`: of the threads that run no workers.
  Watchdog(Scheduler& scheduler, WorkerThreads& threads,
           const DueTimers& due_timers, Results& results, Lane& lane,
           const Log& log);
  ~Watchdog() { Stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Looks on a thread of its own from now on until Stop. INTERNAL: the system
  // has none.
  absl::Status Start();
  void Stop();

  // One look at all workers. Returns in how many nanoseconds to look again;
  // Parker::kForever: when WorkerWoke is called.
  uint64_t CheckAll();
  // The same when that time has passed. A rest goes on.
  uint64_t CheckAfterPause();

  // A worker's sleep is over; or results become too old earlier than they would
  // have.
  void WorkerWoke() {
    // seq_cst: pairs with CheckAll, which first says that it rests and then
    // looks whether all sleep.
    if (rests_.load(std::memory_order_seq_cst)) [[unlikely]] {
      if (rests_.exchange(false, std::memory_order_seq_cst)) parker_.Notify();
    }
  }

 private:
  // A call that was under way at the last look.
  struct Seen {
    Hold* holder = nullptr;
    uint64_t number = 0;
    uint64_t since_ns = 0;
  };
  // What was said about a process type.
  struct Report {
    uint64_t last_ns = 0;
    uint64_t unsaid = 0;
  };

  // How long the call that `queue`'s holder is in may go on;
  // Policy::kCallPatienceNs if there is none.
  uint64_t CheckWorker(WorkerQueue& queue, Seen& seen, uint64_t now_ns);
  // How long from now on the timers need no look.
  uint64_t CheckTimers(uint64_t now_ns);
  void Warn(const ProcessType* type, const char* call, bool handed_over,
            uint64_t now_ns);
  bool Rest();
  // Has those forgotten that are too old. Returns in how many nanoseconds
  // others will be; Parker::kForever: there are none.
  uint64_t CheckResults(uint64_t now_ns);

  Scheduler& scheduler_;
  WorkerThreads& threads_;
  DueTimers due_timers_;
  Results& results_;
  Lane& lane_;
  const Log& log_;
  std::vector<Seen> seen_;
  uint64_t interval_ns_ = Policy::kShortestCheckNs;
  bool acted_ = false;  // in this look
  std::map<const ProcessType*, Report> reports_;

  Atomic<bool> rests_{false};
  std::atomic<bool> stop_{false};
  Parker parker_;
  SystemThread thread_;
};

}  // namespace actord::runtime
