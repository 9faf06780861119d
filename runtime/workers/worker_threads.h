// The threads that run the workers. Each worker is held by one thread at a
// time; a thread that a plugin keeps loses its worker to a spare one, carries
// on with the turn without a worker, and becomes a spare itself.
//
// So there are as many threads that run as there are workers, and besides those
// that are stuck, up to a limit, and those that once were.
//
// Thread-safety: each function says.
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
#include "runtime/turn/process_runner.h"
#include "runtime/workers/watchdog.h"
#include "runtime/workers/worker.h"

namespace actord::runtime {

class WorkerThreads final : public BlockingCalls {
 public:
  // Makes the runner of a thread, which is given the thread's lane and whoever
  // takes its worker over while it blocks. (Shared: the runner is a part of
  // something larger, which it keeps.)
  using MakeRunner =
      std::function<std::shared_ptr<ProcessRunner>(Lane&, BlockingCalls&)>;

  struct Parts {
    const RuntimeOptions& options;
    const Clock& clock;
    BufferPool& buffers;
    Scheduler& scheduler;
    YieldBroker& broker;
    Lifetimes& lifetimes;
    Results& results;
    Lane& shared_lane;  // of threads that run no workers
    MakeRunner make_runner;
  };

  // What a thread owns. Belongs to that thread, unless a member says otherwise.
  struct Thread {
    Thread(const Parts& parts, BlockingCalls& blocking_calls);

    Lane lane;  // its counters and its hold: any thread
    const std::shared_ptr<ProcessRunner> runner;
    Parker parker;  // where it sleeps without a worker; any thread may notify
    SystemThread thread;
  };

  // Makes the workers, and a thread for each, which does not run yet.
  explicit WorkerThreads(const Parts& parts);
  ~WorkerThreads();

  // Threads run from now on until Stop. Without Start, a test runs them by
  // hand. After Stop it does nothing. INTERNAL: the system has not as many
  // threads; those that there are wait for Stop. From one thread.
  absl::Status Start();
  // Joins all; a thread that does not come back from a plugin is waited for.
  void Stop();

  bool GiveAway(Hold& hold) override;
  // Takes the worker from whoever holds it in call `number`, and gives it to a
  // spare thread. False: that call is over, or there is no thread. Any thread.
  bool HandOver(WorkerQueue& queue, Hold& holder, uint64_t number);

  // One turn of the worker that `thread` holds. Precondition: it holds one.
  Worker::Did RunOne(Thread& thread) {
    ACTORD_ASSERT(thread.lane.here() != nullptr,
                  "worker_threads.h: the thread holds a worker");
    return worker(thread.lane.here()->index).RunOne(*thread.runner);
  }
  // `thread` has come back from a turn without its worker: it is spare now.
  void AddSpare(Thread& thread);

  Worker& worker(int index) { return *workers_[static_cast<size_t>(index)]; }
  Watchdog& watchdog() { return watchdog_; }
  // All threads so far; grows only. Any thread.
  [[nodiscard]] size_t size() const {
    return count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] Thread& at(size_t index) const { return *threads_[index]; }

 private:
  // A spare thread, a new one if need be; null: the limit is reached.
  Thread* TakeSpare();
  void Give(Thread& thread, WorkerQueue& queue);
  void Run(Thread& thread, size_t number);
  // INTERNAL: the system has no thread for us.
  absl::Status Launch(Thread& thread, size_t number);
  // In the log, now and then: it may happen in every step.
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
  // Threads that the system refused, and when the log was told last.
  uint64_t refusals_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t told_of_refusal_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of fixed size; those below count_ are set and stay. Written under mutex_.
  std::vector<std::unique_ptr<Thread>> threads_;
  std::atomic<size_t> count_{0};
};

}  // namespace actord::runtime
