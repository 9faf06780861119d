// The composition root of the runtime: all parts, built in the order of their
// needs, and the threads that run the workers.
#pragma once

#include <atomic>

#include "runtime/actors/dead_letters.h"
#include "runtime/actors/groups.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/actors/names.h"
#include "runtime/actors/results.h"
#include "runtime/actors/ties.h"
#include "runtime/inbox/delivery.h"
#include "runtime/runtime.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"
#include "runtime/tasks/lease_thread.h"
#include "runtime/tasks/task_table.h"
#include "runtime/turn/admission.h"
#include "runtime/turn/blocking_pool.h"
#include "runtime/turn/calls.h"
#include "runtime/turn/dispatcher.h"
#include "runtime/turn/host.h"
#include "runtime/workers/worker_threads.h"
#include "runtime/yields/lifetimes.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Runtime::Core {
 public:
  // `options` are checked and resolved.
  Core(const RuntimeOptions& options, const Catalog& catalog);
  ~Core();

  absl::Status StartThreads();
  absl::Status SetLimits(const Limits& given);
  // From a thread that runs no workers. `ready`: see Delivery.
  absl::Status SendFromOutside(const Pid& to, const Message& message,
                               ReadyList* ready);
  UpgradePiece TellOfUpgrade(
      const absl::flat_hash_set<const ProcessType*>& versions,
      uint32_t first_slot);
  ShutdownReport Shutdown(ShutdownMode mode, absl::Duration timeout);
  void HurryShutdown();
  RuntimeStats Stats() const;
  [[nodiscard]] uint64_t LiveProcesses() const;
  // Over all threads.
  [[nodiscard]] uint64_t Sum(Counter Counters::*counter) const;

  const RuntimeOptions options;  // but for the limits
  LiveLimits limits;
  const Catalog& catalog;
  const Clock& clock;
  std::atomic<RunState> state{RunState::kStarting};

  BufferPool buffers;
  ProcessTable processes;
  Scheduler scheduler;
  Lane lane;  // of all threads that run no workers
  Delivery delivery;
  TaskTable tasks;
  Results results;
  YieldBroker broker;
  DeadLetters dead_letters;
  LifecycleLog lifecycle_log;
  Names names;
  Groups groups;
  Ties ties;
  Lifetimes lifetimes;
  Admission admission;
  Host host;
  BlockingPool pool;
  Dispatcher dispatcher;
  Calls calls;
  ShutdownOrders orders;
  const uint64_t stuck_after_ns_;
  std::function<void()> on_end;
  WorkerThreads threads;
  LeaseThread lease_thread;

 private:
  void FreeMailboxes();
  // Sends every live process a cancel or terminate; but no cancel to those
  // whose parents ask them (IsStoppedByParent): it returns these.
  std::vector<Pid> TellAll(uint16_t type, std::string_view reason);
  // Whether its parent lives and has ACTORD_TYPE_STOPS_CHILDREN.
  [[nodiscard]] bool IsStoppedByParent(const Process& process) const;
  void Tell(const Pid& pid, uint16_t type, std::string_view reason);
  // Asks those of `left` whose parents have ended meanwhile, and leaves the
  // others that live in it.
  void AskOrphans(std::vector<Pid>& left);
  // Returns when what does not return is to be given up.
  uint64_t EndAllProcesses(ShutdownMode mode, absl::Duration timeout);
  // True: no process lives. False: the time has passed, or a second caller cut
  // it short. `left`: as TellAll has returned it.
  bool WaitForEmpty(uint64_t deadline_ns, bool may_be_cut,
                    std::vector<Pid> left);
  void LogStuck() const;

  Mutex shutdown_mutex_;
  ConditionVariable shutdown_wake_;
  bool shutting_down_ ABSL_GUARDED_BY(shutdown_mutex_) = false;
  bool cut_short_ ABSL_GUARDED_BY(shutdown_mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(shutdown_mutex_) = false;
  ShutdownReport report_ ABSL_GUARDED_BY(shutdown_mutex_);
};

}  // namespace actord::runtime
