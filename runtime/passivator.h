// Finds durable processes that have waited for a message for a long time, and
// orders them to leave the memory. The turn of the process decides
// (runtime/durable_turn/passivation.cc).
//
// A process that had the same number of steps and nothing to do at two looks,
// far enough apart, is idle. When the table of processes is nearly full, a
// second apart is far enough. A process that refuses the order, for example
// because a caller still waits for its answer, is ordered again when it has
// been idle for as long once more.
//
// Thread-safety: LookAround and LookIfDue from one thread at a time; Start and
// Stop from one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
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

  // Looks on its own thread until Stop. INTERNAL: the system refused a thread.
  absl::Status Start();
  void Stop();
  // Looks at all processes if it is time. Precondition: Start was not called.
  void LookIfDue();

 private:
  void MayLook();
  // What a look has found in a slot of the process table.
  struct Seen {
    uint32_t generation = 0;  // even: no idle process was there
    uint32_t steps = 0;       // the low bits
    // When the process was first like this, or was ordered last.
    uint64_t since_ns = 0;
  };

  // The table of processes is nearly full.
  [[nodiscard]] bool IsCrowded() const;
  void LookAround(uint64_t now_ns, uint64_t after_ns);
  // `seen`: what the last look has found in the slot of the process.
  void Look(const Process& process, uint32_t generation, uint64_t now_ns,
            uint64_t after_ns, Seen& seen);
  // `steps`: of the process, which has no record behind `position_`.
  void Order(const Pid& pid, uint64_t steps);
  void Run();

  Runtime::Core& core_;
  const uint64_t after_ns_;  // 0: no process leaves the memory
  std::vector<Seen> seen_;   // by the slot
  uint64_t looked_ns_ = 0;
  // The end of the journal at the end of the last look. A process that was idle
  // then has no record behind it.
  uint64_t position_ = 0;
  // The state store stands for the records before `position_`, so a process can
  // leave.
  bool may_order_ = false;
  size_t ordered_ = 0;  // in this look
  Mutex mutex_;
  ConditionVariable wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_;
};

}  // namespace actord::runtime
