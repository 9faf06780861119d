// Watches for workers whose thread is stuck in plugin code. A call that has run
// for 10 ms loses its worker to another thread, and a log line names the
// process.
//
// The watchdog is also the timekeeper of last resort. If all awake workers are
// busy in steps, a timer that is 1 ms late wakes a sleeping worker. If no
// worker sleeps, the watchdog fires a timer that is 2 ms late.
//
// It checks more often after something happened (every 20 µs; after a rest
// every 2 ms) and less often while nothing happens (up to 10 ms; 1 ms if there
// are timers and a worker is in a call), as Go's sysmon does. When every worker
// sleeps, it rests until a worker wakes.
//
// It also drops results that have become too old. A rest is interrupted for
// that and resumed afterwards.
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
#include "runtime/log/process_log.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/hold.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/settings/options.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/parker.h"
#include "runtime/system/thread.h"
#include "runtime/table/process_table.h"
#include "runtime/yields/due_timers.h"

namespace actord::runtime {

class WorkerThreads;

class Watchdog {
 public:
  using Policy = SchedulerPolicy;
  using Log = LogSink;

  // `lane`: for threads that run no workers.
  Watchdog(Scheduler& scheduler, WorkerThreads& threads,
           const DueTimers& due_timers, Results& results,
           const ProcessTable& processes, const ProcessLog& process_log,
           Lane& lane, const Log& log);
  ~Watchdog() { Stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Checks on its own thread until Stop. INTERNAL: the system refused a thread.
  absl::Status Start();
  void Stop();

  // Checks all workers once. Returns the nanoseconds until the next check;
  // Parker::kForever: check again when WorkerWoke is called.
  uint64_t CheckAll();
  // The check after that time has passed; it does not end a rest.
  uint64_t CheckAfterPause();

  // A worker has woken, or results become too old earlier than before.
  void WorkerWoke() {
    // seq_cst: pairs with CheckAll, which first stores that it rests and then
    // reads whether all workers sleep.
    if (rests_.load(std::memory_order_seq_cst)) [[unlikely]] {
      if (rests_.exchange(false, std::memory_order_seq_cst)) parker_.Notify();
    }
  }

 private:
  // A call that was under way at the last check.
  struct Seen {
    Hold* holder = nullptr;
    uint64_t number = 0;
    uint64_t since_ns = 0;
  };
  // The last warning about a process type.
  struct Report {
    uint64_t last_ns = 0;
    uint64_t unsaid = 0;
  };

  // Returns how many nanoseconds the current call of `queue`'s holder may still
  // take; Policy::kCallPatienceNs if there is no call.
  uint64_t CheckWorker(WorkerQueue& queue, Seen& seen, uint64_t now_ns);
  // Nanoseconds until the timers need the next check.
  uint64_t CheckTimers(uint64_t now_ns);
  // A call that has lasted too long.
  struct LongCall {
    const ProcessType* type = nullptr;
    Pid pid;
    bool is_named = false;
    const char* name = "";
    bool still_runs = false;
    bool handed_over = false;
  };
  void Warn(const LongCall& call, uint64_t now_ns);
  bool Rest();
  // Drops results that are too old. Returns the nanoseconds until the next
  // results become too old; Parker::kForever: there are none.
  uint64_t CheckResults(uint64_t now_ns);

  Scheduler& scheduler_;
  WorkerThreads& threads_;
  DueTimers due_timers_;
  Results& results_;
  const ProcessTable& processes_;
  const ProcessLog& process_log_;
  Lane& lane_;
  const Log& log_;
  std::vector<Seen> seen_;
  uint64_t interval_ns_ = Policy::kShortestCheckNs;
  // Whether the current check fired timers or handed over a worker.
  bool acted_ = false;
  std::map<const ProcessType*, Report> reports_;

  Atomic<bool> rests_{false};
  std::atomic<bool> stop_{false};
  Parker parker_;
  SystemThread thread_;
};

}  // namespace actord::runtime
