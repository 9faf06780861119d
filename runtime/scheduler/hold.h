// A thread's hold of a worker, and how the worker is taken from the thread
// while a call into a plugin keeps the thread.
//
// A worker (its queue, timers and search) belongs to one thread at a time, its
// holder. Around each call into a plugin, the holder announces that it does not
// touch the worker. During the call, another thread may take the worker and
// give it to a free thread. Go's scheduler does the same with P and M around
// system calls (proc.go, retake); here the thread's side has no RMW.
//
//  (1) `calls_` is odd within a call. Only the thread writes it.
//  (2) The taker, under the mutex, sets `wanted_`, executes a barrier on every
//      running thread of the process (membarrier), then checks whether the
//      thread is still in the very call that was seen. If so, the worker is
//      taken.
//  (3) A thread that comes back from a call adds to `calls_`, then reads
//      `wanted_`. If `wanted_` is set, the thread locks the mutex and reads
//      whether the worker is gone.
//  (4) Each side writes first and reads afterwards, so at least one sees the
//      other. A worker is never taken from a thread that has come back without
//      the thread noticing. Taking is rare, so the taker pays for both sides'
//      barriers; the thread's store and load are plain, in program order.
// tests/model/hold.pml shows what each precaution is for.
//
// Thread-safety: each group of functions says which thread may call it.
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
  // The name under which a command handler on this thread is called.
  static constexpr char kInlineHandler[] = "inline command handler";

  // A call into a plugin that is under way.
  struct PluginCall {
    uint64_t number = 0;
    const Process* process = nullptr;
    // The called function, for logs and statistics.
    const char* name = "";
  };

  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // ---- For the thread itself.

  // The worker that the thread holds, as far as it has noticed; null: none.
  [[nodiscard]] WorkerQueue* queue() const { return queue_; }
  // The worker that the thread held last. Precondition: it has held one.
  [[nodiscard]] WorkerQueue& last_queue() const {
    ACTORD_ASSERT_HOT(last_queue_ != nullptr,
                      "hold.h: the thread has held a worker");
    return *last_queue_;
  }

  // Enter comes before a call into a plugin, Leave after it. `name` is a
  // literal. After Leave, queue() may be null.
  void Enter(const Process& process, const char* name) {
    ACTORD_ASSERT_HOT((calls_.load() & 1) == 0, "hold.h (1)");
    process_.store(&process, std::memory_order_relaxed);
    name_.store(name, std::memory_order_relaxed);
    // Release: a taker that sees the odd number sees all that the thread did
    // before.
    calls_.store(Unpriced(calls_).load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);
  }
  void Leave() {
    ACTORD_ASSERT_HOT((calls_.load() & 1) == 1, "hold.h (1)");
    calls_.store(Unpriced(calls_).load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);
    // (4): the compiler must not reorder the store and the load. The taker's
    // membarrier keeps processors from reordering them.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    FailPoint();
    if (wanted_.load(std::memory_order_acquire)) [[unlikely]] {
      ComeBack();
    }
  }

  // Gives the worker up before a call that is known to block, and returns it,
  // for another thread. Null: the thread holds no worker.
  WorkerQueue* GiveUp();

  // ---- For a thread that brings a worker to this sleeping thread without one.

  void Give(WorkerQueue& queue);

  // ---- For any thread.

  [[nodiscard]] std::optional<PluginCall> CallUnderWay() const;
  // Takes `queue` from the thread, if the thread still holds it and is still in
  // call `number`. True: the worker was taken.
  bool TryTake(const WorkerQueue& queue, uint64_t number);

  // False: this system has no membarrier (Linux before 4.14), and TryTake
  // always fails.
  static bool CanTake();

 private:
  void ComeBack();

  // The thread and Give write these two under mutex_; the thread reads them
  // without the mutex.
  WorkerQueue* queue_ = nullptr;
  WorkerQueue* last_queue_ = nullptr;
  Atomic<uint64_t> calls_{0};
  std::atomic<bool> wanted_{false};
  // Relaxed: the values are valid if calls_ did not change meanwhile.
  std::atomic<const Process*> process_{nullptr};
  std::atomic<const char*> name_{""};
  Mutex mutex_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::runtime
