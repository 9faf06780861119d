// All processes of this node, and the one place that decides whether a PID is
// one of them.
//
// Thread-safety: Find, At, SlotsInUse and SetLimit from any thread; a Cache
// belongs to one thread at a time.
// performance-notes: Inlined by force, Marks for the compiler.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/memory/slot_table.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/process/type_limits.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

class ProcessTable {
 public:
  using Cache = SlotTable<Process>::Cache;

  // At most `limit` processes; see SetLimit. `caches`: of all threads.
  ProcessTable(uint32_t node, uint32_t incarnation, size_t limit, size_t caches,
               const std::vector<TypeLimit>& type_limits = {})
      : node_(node),
        incarnation_(incarnation),
        slots_(limit, caches, SlotTable<Process>::kMaxSlots),
        type_limits_(type_limits) {}

  // For processes to come: those that live stay, also above the limit.
  void SetLimit(size_t limit) { slots_.SetLimit(limit); }

  // The process, if it lives here now; otherwise null. It may end at any
  // moment: carry pid.generation along with every envelope. (Every message
  // passes here, and GCC would not inline it.)
  [[gnu::always_inline]] Process* Find(const Pid& pid) const {
    if (pid.node != node_ || pid.incarnation != incarnation_ ||
        pid.slot >= slots_.SlotsInUse()) {
      return nullptr;
    }
    Process& process = slots_.At(pid.slot);
    WillRead(&process.generation);
    // Acquire: pairs with the spawner's release in Reserve.
    const uint32_t live = process.generation.load(std::memory_order_acquire);
    return live == pid.generation && (live & 1) != 0 ? &process : nullptr;
  }

  // Whether a process that was found has not ended meanwhile, by an RMW:
  // whoever ends it later sees what the caller did before. Precondition: Find
  // has found it.
  [[nodiscard]] bool IsStill(const Pid& pid) const {
    Process& process = slots_.At(pid.slot);
    WillChange(&process.generation);
    return process.generation.fetch_add(0, std::memory_order_seq_cst) ==
           pid.generation;
  }

  // Why Find said no: PROCESS_ENDED if it has lived here, PROCESS_NOT_FOUND if
  // not.
  absl::Status WhyNotFound(const Pid& pid) const;
  [[nodiscard]] bool HasEnded(const Pid& pid) const;

  // Why there is no place for one more.
  enum class NoRoom { kInTable, kForType };
  // A slot in the state "reserved", fields reset, generation odd. Takes
  // messages from now on. Null: there is no place, and `why` says what there
  // are too many of.
  Process* Reserve(Cache& cache, const ProcessType* type, uint16_t method,
                   uint8_t priority, const Pid& parent, uint64_t now_unix_ns,
                   NoRoom& why);
  // The next Reserve with this cache will come soon, and another processor may
  // have had that slot last.
  void PrefetchNext(const Cache& cache) const {
    const uint32_t slot = cache.Next();
    if (slot != SlotTable<Process>::kNoSlot) slots_.At(slot).Prefetch();
  }
  // Of a PID that Reserve has given out, and that has not begun.
  [[nodiscard]] Process& Reserved(const Pid& pid) const {
    return slots_.At(pid.slot);
  }
  // Gives a slot back that was reserved and never begun; its PID is used up.
  void Unreserve(Cache& cache, Process& process) {
    process.generation.fetch_add(1, std::memory_order_release);
    LeaveType(process);
    Release(cache, process);
  }
  // Makes room for another of its type. Once, before anybody is told of its
  // end: whoever hears of that may start one.
  void LeaveType(const Process& process) {
    type_limits_.Give(process.type.load(std::memory_order_relaxed));
  }
  // Gives the slot back. Precondition: generation is even, the word has
  // `ended`.
  void Release(Cache& cache, Process& process);

  [[nodiscard]] Pid PidOf(const Process& process, uint32_t generation) const {
    return {node_, incarnation_, process.slot.load(std::memory_order_relaxed),
            generation};
  }

  [[nodiscard]] Process& At(uint32_t slot) const { return slots_.At(slot); }
  [[nodiscard]] uint32_t SlotsInUse() const { return slots_.SlotsInUse(); }
  [[nodiscard]] const TypeLimits& type_limits() const { return type_limits_; }

 private:
  const uint32_t node_;
  const uint32_t incarnation_;
  SlotTable<Process> slots_;
  TypeLimits type_limits_;
};

}  // namespace actord::runtime
