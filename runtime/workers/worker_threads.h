// The threads that run the workers. One thread at a time holds a worker. A
// thread that is stuck in a plugin loses its worker to a spare thread, finishes
// the turn without a worker, and becomes a spare thread itself.
//
// So there is one running thread for each worker. In addition there are the
// threads that are stuck, up to a limit, and the spare threads.
//
// Thread-safety: see each function.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/actors/results.h"
#include "runtime/scheduler/blocking_calls.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/options.h"
#include "runtime/system/assert.h"
#include "runtime/system/mutex.h"
#include "runtime/system/parker.h"
#include "runtime/system/random.h"
#include "runtime/system/thread.h"
#include "runtime/workers/process_runner.h"
#include "runtime/workers/watchdog.h"
#include "runtime/workers/worker.h"

namespace actord::runtime {

class WorkerThreads final : public BlockingCalls {
 public:
  // Makes the runner of a thread, from the thread's lane and the object that
  // takes the worker over while the thread blocks. (Shared, because the runner
  // is part of a larger object, which the pointer keeps alive.)
  using MakeRunner =
      std::function<std::shared_ptr<ProcessRunner>(Lane&, BlockingCalls&)>;

  struct Parts {
    const RuntimeOptions& options;
    const Clock& clock;
    BufferPool& buffers;
    const ProcessTable& processes;
    const ProcessLog& process_log;
    Scheduler& scheduler;
    YieldBroker& broker;
    Lifetimes& lifetimes;
    Results& results;
    Lane& shared_lane;  // for threads that run no workers
    MakeRunner make_runner;
  };

  // The data of a thread. Only that thread uses a member, unless the member
  // says otherwise.
  struct Thread {
    Thread(const Parts& parts, BlockingCalls& blocking_calls);

    Lane lane;  // any thread: its counters and its hold
    const std::shared_ptr<ProcessRunner> runner;
    Parker parker;  // to sleep without a worker; any thread may notify
    SystemThread thread;
  };

  // Makes the workers, and for each worker a thread, which does not run yet.
  explicit WorkerThreads(const Parts& parts);
  ~WorkerThreads();

  // Starts the threads, which run until Stop. Without Start, a test runs them
  // by hand. After Stop, Start does nothing. INTERNAL: the system refused a
  // thread; the threads that were started wait for Stop. From one thread.
  absl::Status Start();
  // Joins all threads, and waits even for a thread that is stuck in a plugin.
  void Stop();

  bool GiveAway(Hold& hold) override;
  // Takes the worker from `holder`, which holds it in call `number`, and gives
  // it to a spare thread. False: that call is over, or no thread is left. Any
  // thread.
  bool HandOver(WorkerQueue& queue, Hold& holder, uint64_t number);

  // Runs one turn of the worker that `thread` holds. Precondition: the thread
  // holds a worker.
  Worker::Did RunOne(Thread& thread) {
    ACTORD_ASSERT(thread.lane.here() != nullptr,
                  "worker_threads.h: the thread holds a worker");
    return worker(thread.lane.here()->index).RunOne(*thread.runner);
  }
  // Makes `thread`, which has returned from a turn without a worker, a spare.
  void AddSpare(Thread& thread);

  Worker& worker(int index) { return *workers_[static_cast<size_t>(index)]; }
  Watchdog& watchdog() { return watchdog_; }
  // Number of threads ever made; it only grows. Any thread.
  [[nodiscard]] size_t size() const {
    return count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] Thread& at(size_t index) const { return *threads_[index]; }

 private:
  // A spare thread, or else a new thread; null: the limit is reached, the
  // system refused a thread, or Stop was called.
  Thread* TakeSpare();
  void Give(Thread& thread, WorkerQueue& queue);
  void Run(Thread& thread, size_t number);
  // INTERNAL: the system refused a thread.
  absl::Status Launch(Thread& thread, size_t number);
  // Logs a refused thread, at a limited rate, because each step may cause one.
  void TellOfRefusal(const absl::Status& refusal)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Parts parts_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Watchdog watchdog_;
  std::atomic<bool> stop_{false};
  bool runs_ = false;  // Start was called

  Mutex mutex_;
  Random seeds_ ABSL_GUARDED_BY(mutex_);
  std::vector<Thread*> spares_ ABSL_GUARDED_BY(mutex_);
  // Number of threads that the system refused, and when that was logged last.
  uint64_t refusals_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t told_of_refusal_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Has a fixed size. The elements below count_ are set and stay. Written under
  // mutex_.
  std::vector<std::unique_ptr<Thread>> threads_;
  std::atomic<size_t> count_{0};
};

}  // namespace actord::runtime
