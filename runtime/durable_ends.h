// Asks the durable processes to end, in a shutdown that ends them
// (DurableAtEnd).
//
// A dormant process comes back to get its cancel, so only a bounded number of
// processes is told in one look, and while kMaxEnding of them have not ended,
// no other one comes back. Passes over all processes follow each other until
// the shutdown stops asking, because a process that is told may start children,
// and an order may be refused while the disk is behind.
//
// A process in quarantine takes no step, so it is terminated instead.
//
// Thread-safety: one thread, the one of the shutdown. Ownership: borrows the
// core, which must have a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class DurableEnds {
 public:
  // While this number of processes has got the order and has not ended, no
  // dormant process comes back.
  static constexpr size_t kMaxEnding = 10'000;

  explicit DurableEnds(Runtime::Core& core) : core_(core) {}
  DurableEnds(const DurableEnds&) = delete;
  DurableEnds& operator=(const DurableEnds&) = delete;

  // Sends an order (ACTORD_EVENT_CANCEL or kEventTerminate) to the next
  // processes that have not got it. A process for which `is_left` is true gets
  // no cancel in this pass. After an order of another kind the first pass
  // begins. To be called each few milliseconds.
  void Look(uint16_t order, std::string_view reason,
            absl::FunctionRef<bool(const Process&)> is_left);
  [[nodiscard]] uint64_t live() const;

 private:
  void Tell(const Pid& pid, std::string_view reason,
            absl::FunctionRef<bool(const Process&)> is_left);

  Runtime::Core& core_;
  uint16_t order_ = 0;
  // The next slot of a home to look at.
  uint32_t home_ = 0;
  uint32_t slot_ = 0;
  // The next pass begins at this time.
  uint64_t next_pass_ns_ = 0;
  // Dormant processes that this look has brought back.
  int woken_ = 0;
  // The processes that have got the order and had not ended in the last look.
  // They are in memory, because an order keeps a process from becoming dormant.
  absl::flat_hash_set<Pid> told_;
};

}  // namespace actord::runtime
