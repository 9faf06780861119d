// Finds durable processes that have waited for a message or a timer for a long
// time, and orders them to leave memory. The turn of the process decides
// (runtime/durable_turn/passivation.cc).
//
// A process is idle if two passes, far enough apart, found it with the same
// number of steps and nothing to do. When the table of processes is nearly
// full, one second is far enough. A process that refuses the order, for example
// because a caller still waits for its answer, is ordered again after the same
// idle time. If a process refuses because its history is long, its idle time
// doubles with each order, up to 1,024 times.
//
// Thread-safety: LookAround and LookIfDue from one thread at a time; Start and
// Stop from one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/process/process.h"
#include "runtime/runtime.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class Passivator {
 public:
  // `core` is borrowed. Precondition: it has a store.
  explicit Passivator(Runtime::Core& core);
  ~Passivator() { Stop(); }
  Passivator(const Passivator&) = delete;
  Passivator& operator=(const Passivator&) = delete;

  // Makes passes on its own thread until Stop. INTERNAL: the system refused a
  // thread.
  absl::Status Start();
  void Stop();
  // Makes a pass over all processes if it is due. Precondition: Start was not
  // called.
  void LookIfDue();

 private:
  void MayLook();
  // The result of a look at a slot of the process table.
  struct Seen {
    uint32_t generation = 0;  // even: no idle process was there
    uint32_t steps = 0;       // the low bits
    // How often the idle time before the next order has doubled.
    uint32_t doublings = 0;
    // When the process was first found like this, or was last ordered.
    uint64_t since_ns = 0;
  };

  // The table of processes is nearly full.
  [[nodiscard]] bool IsCrowded() const;
  void LookAround(uint64_t now_ns, uint64_t after_ns);
  // Doubles the idle times of the processes that have refused because of their
  // long histories.
  void TakeRefusals();
  // `seen`: the last pass's finding in the slot of the process.
  void Look(const Process& process, uint32_t generation, uint64_t now_ns,
            uint64_t after_ns, Seen& seen);
  // Whether the yields of a process leave it free to become dormant.
  enum class Timers {
    kMaySleep,     // they are timers; the header has their times
    kTooSoon,      // the first one is due soon
    kOtherYields,  // not all of them are timers
  };
  // Reads the yields of the process from the store. Waits for the disk.
  Timers LookAtTimers(const Pid& pid, PassivateHeader& header);
  void Order(const Pid& pid, const PassivateHeader& header);
  void Run();

  Runtime::Core& core_;
  const uint64_t after_ns_;  // 0: no process leaves memory
  std::vector<Seen> seen_;   // by the slot
  uint64_t looked_ns_ = 0;
  // The end of the journal at the end of the last pass. A process that was idle
  // then has no record after it.
  uint64_t position_ = 0;
  // The state store has all records before `position_`, so a process can leave.
  bool may_order_ = false;
  size_t ordered_ = 0;  // in this pass
  Mutex mutex_;
  ConditionVariable wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_;
};

// Brings dormant processes back when their timers are due. A process that comes
// back begins its timers again, as after a restart, and the timer that is due
// fires at once.
//
// Many timers may be due at the same time, for example after a downtime. While
// `limits.max_processes` processes are in memory, or the journal is behind,
// only kTrickle processes come back in each look, so that the memory stays
// bounded and no timer waits for ever.
//
// Thread-safety: LookIfDue from one thread at a time; Start and Stop from one
// thread.
class TimedWakes {
 public:
  static constexpr int kTrickle = 64;

  // `core` is borrowed. Precondition: it has a store.
  explicit TimedWakes(Runtime::Core& core);
  ~TimedWakes() { Stop(); }
  TimedWakes(const TimedWakes&) = delete;
  TimedWakes& operator=(const TimedWakes&) = delete;

  // Brings processes back on its own thread until Stop. INTERNAL: the system
  // refused a thread.
  absl::Status Start();
  void Stop();
  // Brings the processes back that are due. Precondition: Start was not called.
  void LookIfDue();
  // A process becomes dormant only if its first timer is due at least this much
  // later, so that a look comes in time. No process becomes dormant for less.
  [[nodiscard]] uint64_t least_ns() const { return least_ns_; }

 private:
  // True: there is more to bring back at once.
  bool Look();
  [[nodiscard]] bool HasRoom() const;
  void Run();

  Runtime::Core& core_;
  const uint64_t least_ns_;
  Mutex mutex_;
  ConditionVariable wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_;
};

}  // namespace actord::runtime
