// A thread's hold of a worker, and how the worker is taken from it while a call
// into a plugin keeps the thread.
//
// A worker (its queue, timers and search) belongs to one thread at a time, the
// one that holds it. Around each call into a plugin the thread says that it
// touches nothing of the worker; meanwhile another thread may take the worker
// and give it to a thread that is free. Go's scheduler does the same with P and
// M around system calls (proc.go, retake); here the thread's side has no RMW.
//
//  (1) `calls_` is odd within a call. Only the thread writes it.
//  (2) To take: under the mutex set `wanted_`, execute a barrier on every
//      running thread of the process (membarrier), then look whether the thread
//      is still in the very call that was seen. If so, the worker is taken.
//  (3) To come back: add to `calls_`, then look at `wanted_`. If it is set, the
//      mutex tells whether the worker is gone.
//  (4) Each side writes first and reads afterwards, so one sees the other: the
//      worker is never taken from a thread that has come back without noticing.
//      The taker, who is rare, pays for both sides' barriers; the thread's
//      store and load are plain ones, in program order.
// tests/model/hold.pml shows what each precaution is for.
//
// Thread-safety: each group of functions says whose it is.
// performance-notes: Rare code moved out.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

struct Process;
struct WorkerQueue;

class Hold {
 public:
  // A call into a plugin that is under way.
  struct PluginCall {
    uint64_t number = 0;
    const Process* process = nullptr;
    const char* name = "";  // what is called, for people
  };

  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // ---- The thread itself.

  // The worker that it holds, as far as it has noticed; null: none.
  [[nodiscard]] WorkerQueue* queue() const { return queue_; }
  // The worker that it held last.
  [[nodiscard]] WorkerQueue& last_queue() const {
    ACTORD_ASSERT_HOT(last_queue_ != nullptr, "hold.h: it has held a worker");
    return *last_queue_;
  }

  // Around a call. `name` is a literal. After Leave, queue() may be null.
  void Enter(const Process& process, const char* name) {
    ACTORD_ASSERT_HOT((calls_.load() & 1) == 0, "hold.h (1)");
    process_.store(&process, std::memory_order_relaxed);
    name_.store(name, std::memory_order_relaxed);
    // Release: whoever sees the odd number takes over what was done so far.
    calls_.store(Unpriced(calls_).load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);
  }
  void Leave() {
    ACTORD_ASSERT_HOT((calls_.load() & 1) == 1, "hold.h (1)");
    calls_.store(Unpriced(calls_).load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);
    // (4): no compiler may turn these two around; processors are stopped from
    // it by the taker's membarrier.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    FailPoint();
    if (wanted_.load(std::memory_order_acquire)) [[unlikely]] {
      ComeBack();
    }
  }

  // Gives the worker up, before a call that is known to block; it is returned
  // for another thread. Null: there is none to give up.
  WorkerQueue* GiveUp();

  // ---- Whoever brings a worker to a thread that has none and sleeps.

  void Give(WorkerQueue& queue);

  // ---- Any thread.

  [[nodiscard]] std::optional<PluginCall> CallUnderWay() const;
  // Takes `queue` from the thread, if it still holds it in call `number`.
  bool TryTake(const WorkerQueue& queue, uint64_t number);

  // False: this system has no membarrier (Linux before 4.14), and TryTake
  // always fails.
  static bool CanTake();

 private:
  void ComeBack();

  // Written by the thread and by Give, under mutex_; the thread reads them
  // without.
  WorkerQueue* queue_ = nullptr;
  WorkerQueue* last_queue_ = nullptr;
  Atomic<uint64_t> calls_{0};
  std::atomic<bool> wanted_{false};
  // Relaxed: valid if calls_ did not change meanwhile.
  std::atomic<const Process*> process_{nullptr};
  std::atomic<const char*> name_{""};
  Mutex mutex_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::runtime
