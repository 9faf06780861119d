// Ends all processes and stops the runtime's threads, in this order:
//
//  1. New submissions are refused: the state becomes kDraining. Messages and
//     completions are still delivered.
//  2. The turns are told (ShutdownOrders): with kDrain a process that begins is
//     cancelled, with kNow every process ends at its next turn.
//  3. Every Submit under way has returned (ProcessAdmission::AwaitQuiet). From
//     here on every live process is in the table, or began under the order of
//     step 2.
//  4. kDrain: every live process is sent a cancel. A process whose parent lives
//     and stops its children (ACTORD_TYPE_STOPS_CHILDREN) is left to the
//     parent, and is cancelled here once the parent has ended.
//  5. kDrain: waits until no process lives, the timeout has passed, or another
//     call cuts the wait short. If no process lives, step 8 follows.
//  6. The live processes are terminated, by the order of step 2 and by an
//     event.
//  7. Waits until no process lives, for at most `stuck_after`. Then the log
//     names processes whose step does not return.
//  8. Handlers of the blocking pool have the rest of that time to return.
//  9. The threads that run workers stop, unless a process lives: a thread that
//     is stuck in a step cannot be joined.
// 10. Every await of a result and every call from outside is called back with
//     STOPPED.
// 11. The state becomes kStopped, and every caller of Run gets the report.
//
// In these steps, "process" means a volatile one: with DurableAtEnd::kKeep the
// turns take no durable process from step 2 on (ShutdownOrders::freeze). With
// kEnd steps 4 to 7 hold for durable processes, too (durable_ends.h), and the
// durable processes that still live after step 7 are frozen.
//
// Thread-safety: any thread. Ownership: borrows the core, which owns this
// object.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/durable_ends.h"
#include "runtime/process/process.h"
#include "runtime/runtime.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class Shutdown {
 public:
  // `stuck_after`: the time of steps 7 and 8.
  Shutdown(Runtime::Core& core, absl::Duration stuck_after);
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // See Runtime::Shutdown.
  ShutdownReport Run(ShutdownMode mode, absl::Duration timeout,
                     DurableAtEnd durable = DurableAtEnd::kKeep);
  // Ends the wait of step 5, also for a Run that is about to begin.
  void Hurry();
  // Calls `start` unless a Run has begun; then returns OK without a call. A Run
  // never begins during `start`.
  absl::Status UnlessBegun(absl::FunctionRef<absl::Status()> start);
  // Called when a process has ended.
  void OnEnd() { wake_.notify_all(); }

 private:
  // Does steps 1 to 7. Returns the time at which step 8 gives up. Sets
  // `is_empty` if no volatile process lives any more.
  uint64_t EndAllProcesses(ShutdownMode mode, absl::Duration timeout,
                           bool& is_empty);
  // Steps 6 and 7. True: no volatile process lives any more.
  bool TerminateAll(uint64_t given_up_ns);
  // From now on durable processes take no turns.
  void FreezeDurable();
  // Sends every live volatile process a cancel or a terminate. Sends no cancel
  // to the processes that step 4 leaves to their parents, and returns them.
  std::vector<Pid> TellAll(uint16_t type, std::string_view reason);
  void Tell(const Pid& pid, uint16_t type, std::string_view reason);
  // Whether the parent of the process lives and has ACTORD_TYPE_STOPS_CHILDREN.
  [[nodiscard]] bool IsStoppedByParent(const Process& process) const;
  // Cancels the processes in `left` whose parents have ended meanwhile.
  // Afterwards `left` holds the other live processes.
  void CancelOrphans(std::vector<Pid>& left);
  // Whether a process lives that this shutdown ends.
  [[nodiscard]] bool HasLive() const;
  // Waits until no process lives, and sends the order `type` to durable
  // processes meanwhile. True: no process lives. False: the deadline has
  // passed, or another call cut the wait short. `left`: the return value of
  // TellAll.
  bool WaitForEmpty(uint64_t deadline_ns, bool may_be_cut, uint16_t type,
                    std::vector<Pid> left);
  void LogStuck() const;

  Runtime::Core& core_;
  const uint64_t stuck_after_ns_;
  // Set during steps 4 to 7 if they end durable processes. Used only by the
  // thread that carries out the shutdown.
  std::optional<DurableEnds> durable_ends_;

  Mutex mutex_;
  ConditionVariable wake_;
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool cut_short_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  ShutdownReport report_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
