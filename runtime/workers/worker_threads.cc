#include "runtime/workers/worker_threads.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <exception>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/crash/alternate_stack.h"
#include "runtime/crash/running_code.h"
#include "runtime/system/assert.h"
#include "runtime/system/processor.h"

namespace actord::runtime {

WorkerThreads::Thread::Thread(const Parts& parts, BlockingCalls& blocking_calls)
    : lane(parts.buffers, Lane::Use::kOneThread),
      runner(parts.make_runner(lane, blocking_calls)) {
  if (parts.options.samples_turns) {
    lane.turn_times = std::make_unique<TurnTimes>();
  }
}

WorkerThreads::WorkerThreads(const Parts& parts)
    : parts_(parts),
      watchdog_(parts.scheduler, *this,
                DueTimers(parts.scheduler, parts.broker, parts.lifetimes),
                parts.results, parts.processes, parts.process_log,
                parts.shared_lane, parts.options.log),
      seeds_(parts.options.seed) {
  const size_t workers = parts.scheduler.size();
  threads_.resize(workers +
                  static_cast<size_t>(parts.options.max_blocked_threads));
  for (size_t i = 0; i < workers; ++i) {
    Thread* thread = TakeSpare();
    ACTORD_ASSERT(thread != nullptr,
                  "worker_threads.h: there is a thread for each worker");
    uint64_t seed = 0;
    {
      const MutexLock lock(mutex_);
      seed = seeds_.Next();
    }
    workers_.push_back(std::make_unique<Worker>(
        parts.scheduler, parts.scheduler.queue(i), parts.broker,
        parts.lifetimes, seed, parts.options.samples_turns));
    thread->lane.hold().Give(parts.scheduler.queue(i));
  }
}

WorkerThreads::~WorkerThreads() { Stop(); }

WorkerThreads::Thread* WorkerThreads::TakeSpare() {
  const MutexLock lock(mutex_);
  if (!spares_.empty()) {
    Thread* spare = spares_.back();
    spares_.pop_back();
    return spare;
  }
  const size_t number = count_.load(std::memory_order_relaxed);
  if (number == threads_.size() || stop_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  auto thread = std::make_unique<Thread>(parts_, *this);
  if (runs_) {
    const absl::Status status = Launch(*thread, number);
    if (!status.ok()) {
      TellOfRefusal(status);
      return nullptr;
    }
  }
  threads_[number] = std::move(thread);
  count_.store(number + 1, std::memory_order_release);
  return threads_[number].get();
}

absl::Status WorkerThreads::Launch(Thread& thread, size_t number) {
  try {
    thread.thread =
        SystemThread([this, &thread, number] { Run(thread, number); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start thread ", number, " that runs workers: ", error.what()));
  }
}

void WorkerThreads::TellOfRefusal(const absl::Status& refusal) {
  ++refusals_;
  const uint64_t now_ns = parts_.clock.MonotonicNs();
  if (told_of_refusal_ns_ != 0 &&
      now_ns - told_of_refusal_ns_ < SchedulerPolicy::kWarningPauseNs) {
    return;
  }
  told_of_refusal_ns_ = now_ns;
  parts_.options.log(
      LogLevel::kError,
      absl::StrCat(std::string(refusal.message()),
                   "; a worker waits for its blocked thread (", refusals_,
                   " refusals so far): raise the limit on threads, or "
                   "lower scheduler.max_blocked_threads"));
}

absl::Status WorkerThreads::Start() {
  {
    const MutexLock lock(mutex_);
    if (stop_.load(std::memory_order_relaxed)) return absl::OkStatus();
    runs_ = true;
    for (size_t i = 0; i < size(); ++i) {
      absl::Status status = Launch(at(i), i);
      if (!status.ok()) return status;
      // The first threads already hold their workers.
      at(i).parker.Notify();
    }
  }
  return watchdog_.Start();
}

void WorkerThreads::Stop() {
  watchdog_.Stop();
  {
    // After this store, no thread is started.
    const MutexLock lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
  }
  for (size_t i = 0; i < size(); ++i) at(i).parker.Notify();
  for (size_t i = 0; i < parts_.scheduler.size(); ++i) {
    parts_.scheduler.queue(i).parker.Notify();
  }
  for (size_t i = 0; i < size(); ++i) {
    if (at(i).thread.joinable()) at(i).thread.join();
  }
}

void WorkerThreads::Give(Thread& thread, WorkerQueue& queue) {
  thread.lane.hold().Give(queue);
  thread.parker.Notify();
}

bool WorkerThreads::GiveAway(Hold& hold) {
  Thread* spare = TakeSpare();
  if (spare == nullptr) return false;
  WorkerQueue* const queue = hold.GiveUp();
  if (queue == nullptr) {
    AddSpare(*spare);
    return false;
  }
  queue->counted.hand_overs.Add();
  Give(*spare, *queue);
  return true;
}

bool WorkerThreads::HandOver(WorkerQueue& queue, Hold& holder,
                             uint64_t number) {
  Thread* spare = TakeSpare();
  if (spare == nullptr) return false;
  if (!holder.TryTake(queue, number)) {
    AddSpare(*spare);
    return false;
  }
  queue.counted.hand_overs.Add();
  Give(*spare, queue);
  return true;
}

void WorkerThreads::AddSpare(Thread& thread) {
  const MutexLock lock(mutex_);
  spares_.push_back(&thread);
}

void WorkerThreads::Run(Thread& thread, size_t number) {
  pthread_setname_np(pthread_self(), absl::StrCat("worker/", number).c_str());
  // The default slack of 50 µs would be most of the allowed lateness of a
  // timer.
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  const AlternateStack stack_of_signals;
  const LaneScope lane_scope(thread.lane, parts_.processes);
  for (;;) {
    while (!thread.parker.Wait(Parker::kForever)) {
    }
    while (WorkerQueue* queue = thread.lane.here()) {
      if (stop_.load(std::memory_order_relaxed)) return;
      Worker& held = worker(queue->index);
      switch (held.RunOne(*thread.runner)) {
        case Worker::Did::kRan:
          break;
        case Worker::Did::kSearch:
          // The worker may have been a sleeper for a moment.
          watchdog_.WorkerWoke();
          RelaxCpu();
          break;
        case Worker::Did::kYield:
          YieldThread();
          break;
        case Worker::Did::kSleep:
          while (!held.Wake(queue->parker.Wait(held.sleep_ns()))) {
          }
          watchdog_.WorkerWoke();
          break;
      }
    }
    if (stop_.load(std::memory_order_relaxed)) return;
    AddSpare(thread);
  }
}

}  // namespace actord::runtime
