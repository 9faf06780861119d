// All processes of this node, and the only place that decides whether a PID
// belongs to one of them.
//
// A volatile process has the PID of its slot. A durable process has a PID of a
// home (homes.h), and the top bit of Process::slot is set. A dormant process
// has no slot. Find brings it back.
//
// Thread-safety: Find, At, SlotsInUse and SetLimit from any thread; a Cache
// belongs to one thread at a time.
// performance-notes: Inlined by force, Marks not measured alone.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "runtime/memory/slot_table.h"
#include "runtime/process/owner.h"
#include "runtime/process/owner_limits.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/process/type_limits.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/table/homes.h"

namespace actord::runtime {

// A process that Find has found, and the generation that its slot had then.
struct FoundProcess {
  Process* process = nullptr;
  // Carry it along with every envelope: the process may end at any moment.
  uint32_t generation = 0;

  explicit operator bool() const { return process != nullptr; }
  friend bool operator==(const FoundProcess& found, const Process* other) {
    return found.process == other;
  }
  Process* operator->() const { return process; }
  Process& operator*() const { return *process; }
  // Whether the process has not ended since.
  [[nodiscard]] bool IsStill() const { return process->IsStill(generation); }
};

class ProcessTable {
 public:
  using Cache = SlotTable<Process>::Cache;

  // At most `limit` processes; see SetLimit. `caches`: the caches of all
  // threads. `counts_owners`: the table counts the processes of each owner, so
  // that owners may get limits at any time (processes_of).
  ProcessTable(uint32_t node, uint32_t incarnation, size_t limit, size_t caches,
               const std::vector<TypeLimit>& type_limits = {},
               bool counts_owners = false)
      : node_(node),
        incarnation_(incarnation),
        slots_(limit, caches, SlotTable<Process>::kMaxSlots),
        has_limits_(!type_limits.empty() || counts_owners),
        type_limits_(type_limits) {
    if (counts_owners) processes_of_.Count();
  }

  // Brings a dormant process back, if `by` sees it. False: `by` does not see
  // it, or it cannot be brought back.
  using Wake = std::function<bool(const Pid&, Owner by)>;
  // From now on durable processes can be here. `homes` is borrowed, and
  // outlives the table. To be called before any other thread uses the table.
  void SetHomes(Homes& homes) { homes_ = &homes; }
  void SetWake(Wake wake) { wake_ = std::move(wake); }

  // Applies to new processes: live processes stay, even above the limit.
  void SetLimit(size_t limit) { slots_.SetLimit(limit); }

  // The process, if it lives here now. (GCC would not inline Find.)
  [[gnu::always_inline]] FoundProcess Find(const Pid& pid) const {
    if (IsOfSlot(pid)) [[likely]] {
      return FindVolatile(pid);
    }
    return FindDurable(pid, Owner::kAny);
  }

  // The same for a caller who may not see all processes. (Relaxed: if the slot
  // has another process by now, its owner decides nothing, because an event for
  // `pid` is dropped.)
  [[gnu::always_inline]] FoundProcess Find(const Pid& pid, Owner by) const {
    return IsOfSlot(pid) ? SeenBy(by, FindVolatile(pid)) : FindDurable(pid, by);
  }
  // Find, only for a volatile process.
  [[gnu::always_inline]] FoundProcess FindVolatile(const Pid& pid,
                                                   Owner by) const {
    return IsOfSlot(pid) ? SeenBy(by, FindVolatile(pid)) : FoundProcess{};
  }
  // Find, for a process that is not dormant. Wakes no process.
  [[nodiscard]] FoundProcess FindAwake(const Pid& pid) const;
  [[nodiscard]] bool IsDormant(const Pid& pid) const;
  // Whether the process lives, dormant or not. Wakes no process.
  [[nodiscard]] bool Lives(const Pid& pid) const;
  // Whether the PID belongs to one of the homes.
  [[nodiscard]] bool HasHome(const Pid& pid) const {
    return homes_ != nullptr && homes_->MayHaveLived(pid);
  }
  // As long as the caller holds this lock, a durable process that FindAwake has
  // found stays in its slot, unless it ends. Precondition: HasHome.
  [[nodiscard]] Mutex& ResidencyOf(const Pid& pid) const {
    ACTORD_ASSERT_HOT(HasHome(pid), "process_table.h: the PID has a home");
    return homes_->ResidencyOf(pid);
  }
  [[nodiscard]] const Homes* homes() const { return homes_; }

  // From now on the observer of this bit learns of the end of the process
  // (Process::Want). False: `by` sees no such live process.
  [[nodiscard]] bool Want(const Pid& pid, Owner by, uint8_t bit) const;

  // Whether a process has not ended since Find found it. The check is an RMW,
  // so a thread that ends the process later sees all that the caller did
  // before. Precondition: Find has found it. (Not asserted: nobody notes that.)
  [[nodiscard]] bool IsStill(const Pid& pid) const {
    if (IsHomePid(pid)) [[unlikely]] {
      return IsStillDurable(pid);
    }
    return IsStill(ProcessSlot{pid.slot, pid.generation});
  }

  // Why Find found nothing: PROCESS_ENDED if the process has lived here,
  // otherwise PROCESS_NOT_FOUND. The table does not know the owner of a process
  // that has ended. So a client, and its processes, get the same answer (it has
  // ended) for each process of this start that they do not see, whether it
  // belongs to another owner, has ended, or never was.
  absl::Status WhyNotFound(const Pid& pid, Owner by) const;
  [[nodiscard]] bool HasEnded(const Pid& pid, Owner by) const;

  // nullopt: no such process lives here.
  [[nodiscard]] std::optional<Owner> OwnerOf(const Pid& pid) const;

  // Which limit left no room for another process.
  enum class NoRoom { kInTable, kForType, kForOwner };
  // A process in the state "reserved", with fields reset and an odd generation.
  // It takes messages from now on. Null: there is no room, and `why` names the
  // limit.
  // (Inlined: the arguments of a call would cost a spawn 25
  // instructions.)
  [[gnu::always_inline]] Process* Reserve(Cache& cache, const ProcessType* type,
                                          uint16_t method, uint8_t priority,
                                          Owner owner, const Pid& parent,
                                          uint64_t now_unix_ns, NoRoom& why);
  // Prefetches the slot of the next Reserve with this cache, which another
  // processor may have had last.
  void PrefetchNext(const Cache& cache) const {
    const uint32_t slot = cache.Next();
    if (slot != SlotTable<Process>::kNoSlot) slots_.At(slot).Prefetch();
  }
  // Makes a reserved process durable: it has the PID from now on, and can be
  // found by it. Precondition: SetHomes was called, the homes have drawn or
  // kept the PID, and no other thread knows of the process.
  void Enter(Process& process, const Pid& pid);
  // Same as Reserve, for a dormant process: the limits count it already, and it
  // comes back even above the limit of the table. Null: there are
  // SlotTable::kMaxSlots processes.
  Process* ReserveAgain(Cache& cache, const Pid& pid, const ProcessType* type,
                        uint16_t method, uint8_t priority, Owner owner,
                        const Pid& parent, uint64_t started_unix_ns);
  // Makes the process live, so that others find it. True: the caller has to
  // enqueue it, because an event for the former process of its slot came late,
  // and the turn drops that event. Precondition: the caller holds ResidencyOf
  // the PID, and the process is complete except for its word, which has
  // `ended`.
  [[nodiscard]] bool EnterAgain(Process& process, const Pid& pid);
  // The process falls asleep if its word is still `word`, which is that of its
  // running turn. False: an event has come for it. `note`: for Homes::NoteOf.
  // `due_ns`: when it has to come back, on the store's clock; 0: never.
  // Precondition: it has no state and no events; its home can bring it back.
  [[nodiscard]] bool Sleep(Process& process, const Pid& pid, uint64_t word,
                           uint32_t note, uint64_t due_ns);
  // Gives the slot of a process back that is asleep.
  void ReleaseAsleep(Cache& cache, const Process& process);
  // Counts a dormant process of the store. False: the limit that `why` names
  // has no room.
  [[nodiscard]] bool CountDormant(const ProcessType* type, Owner owner,
                                  NoRoom& why) {
    return !has_limits_ || TakeLimited(type, owner, why);
  }
  // The process of a PID that Reserve has given out; the process has not begun.
  [[nodiscard]] Process& Reserved(const Pid& pid) const {
    ACTORD_ASSERT_HOT(slots_.At(pid.slot).generation.load() == pid.generation,
                      "process_table.h: the process is reserved");
    return slots_.At(pid.slot);
  }
  // Gives back a reserved slot whose process never began; its PID is used up.
  void Unreserve(Cache& cache, Process& process) {
    process.generation.fetch_add(1, std::memory_order_release);
    LeaveLimits(process);
    Release(cache, process);
  }
  // Makes room for another process of the same type and owner. Called once,
  // before any observer learns of the end: an observer may start a new process.
  void LeaveLimits(const Process& process) {
    if (has_limits_) [[unlikely]] {
      GiveLimited(process.type.load(std::memory_order_relaxed),
                  process.owner.load(std::memory_order_relaxed));
    }
  }
  // Gives the slot back. Precondition: generation is even, the word has
  // `ended`.
  void Release(Cache& cache, Process& process);

  // The PID of the process that has or had this generation. (If the slot of a
  // durable process has another process by now, the result is the PID of a
  // volatile process that never was.)
  [[nodiscard, gnu::always_inline]] Pid PidOf(const Process& process,
                                              uint32_t generation) const {
    Pid pid;
    WritePidOf(process, generation, pid);
    return pid;
  }
  // Writes the PID as two words. A step copies it soon after, by words, and a
  // processor delays such a copy if single fields were stored. (Inlined: every
  // step passes through it.)
  [[gnu::always_inline]] void WritePidOf(const Process& process,
                                         uint32_t generation, Pid& pid) const {
    static_assert(std::endian::native == std::endian::little);
    const uint32_t slot = process.slot.load(std::memory_order_relaxed);
    if (slot >= Process::kDurableSlot) [[unlikely]] {
      return WriteDurablePid(slot & ~Process::kDurableSlot, generation, pid);
    }
    WriteSlotPid(slot, generation, pid);
  }

  [[nodiscard]] Process& At(uint32_t slot) const { return slots_.At(slot); }
  // Calls `visit(process, generation)` for each slot in use from `first_slot`
  // on in which a process lives or is reserved, until `visit` returns false or
  // `max_slots` slots are examined. A process may end before or during its
  // visit. Returns the slot where the next piece begins; 0: this was the last
  // piece.
  template <typename Visit>
  uint32_t ForEachLive(uint32_t first_slot, uint32_t max_slots,
                       Visit visit) const {
    const uint32_t slots = SlotsInUse();
    for (uint32_t slot = first_slot; slot < slots; ++slot) {
      if (slot - first_slot == max_slots) return slot;
      Process& process = At(slot);
      // Acquire: pairs with the spawner's release in Reserve.
      const uint32_t generation =
          process.generation.load(std::memory_order_acquire);
      if ((generation & 1) == 0) continue;
      if (!visit(process, generation)) return slot + 1 < slots ? slot + 1 : 0;
    }
    return 0;
  }
  [[nodiscard]] uint32_t SlotsInUse() const { return slots_.SlotsInUse(); }
  [[nodiscard]] const TypeLimits& type_limits() const { return type_limits_; }
  // Per owner: live processes, and bytes of waiting messages. (Shallow const,
  // as of Find: a message is charged where its receiver is found.)
  [[nodiscard]] OwnerLimits& processes_of() const { return processes_of_; }
  [[nodiscard]] OwnerLimits& mailbox_bytes_of() const {
    return mailbox_bytes_of_;
  }

 private:
  [[gnu::always_inline]] FoundProcess FindResident(
      const ProcessSlot& resident) const {
    Process& process = slots_.At(resident.slot);
    WillRead(&process.generation);
    // Acquire: pairs with the spawner's release in Reserve.
    const uint32_t live = process.generation.load(std::memory_order_acquire);
    return live == resident.generation && (live & 1) != 0
               ? FoundProcess{&process, live}
               : FoundProcess{};
  }
  [[gnu::always_inline]] bool IsOfSlot(const Pid& pid) const {
    return pid.node == node_ && pid.incarnation == incarnation_ &&
           pid.slot < slots_.SlotsInUse();
  }
  // Precondition: IsOfSlot.
  [[gnu::always_inline]] FoundProcess FindVolatile(const Pid& pid) const {
    ACTORD_ASSERT_HOT(IsOfSlot(pid), "process_table.h: the PID is of a slot");
    const FoundProcess found = FindResident({pid.slot, pid.generation});
    // A durable process has only the PID of its home.
    return found && found->is_durable() ? FoundProcess{} : found;
  }
  [[gnu::always_inline]] static FoundProcess SeenBy(Owner by,
                                                    const FoundProcess& found) {
    return found && Sees(by, found->owner.load(std::memory_order_relaxed))
               ? found
               : FoundProcess{};
  }
  // Find, for a PID that does not belong to a slot in use. Brings a dormant
  // process back.
  [[gnu::noinline]] FoundProcess FindDurable(const Pid& pid, Owner by) const;
  // The process of the PID if it is in a slot. `place`: its place in the homes;
  // nullopt: it has ended.
  FoundProcess Look(const Pid& pid, std::optional<ProcessSlot>& place) const;
  [[nodiscard]] bool IsStill(const ProcessSlot& resident) const {
    Process& process = slots_.At(resident.slot);
    WillChange(&process.generation);
    return process.generation.fetch_add(0, std::memory_order_seq_cst) ==
           resident.generation;
  }
  [[gnu::noinline]] bool IsStillDurable(const Pid& pid) const;
  static void Prepare(Process& process, uint32_t slot, const ProcessType* type,
                      uint16_t method, uint8_t priority, Owner owner,
                      const Pid& parent, uint64_t now_unix_ns);
  void WriteSlotPid(uint32_t slot, uint32_t generation, Pid& pid) const {
    const uint64_t words[] = {uint64_t{incarnation_} << 32 | node_,
                              uint64_t{generation} << 32 | slot};
    static_assert(sizeof(words) == sizeof(pid));
    std::memcpy(&pid, words, sizeof(pid));
  }
  [[gnu::noinline]] void WriteDurablePid(uint32_t slot, uint32_t generation,
                                         Pid& pid) const;
  // Release for a durable process, which has ended or never began. (Not
  // inlined, so that a volatile process saves no registers.)
  [[gnu::noinline]] void ReleaseDurable(Cache& cache, Process& process);
  void FreeSlot(Cache& cache, const Process& process, uint32_t slot);

  // (Not inlined, as in TypeLimits.)
  [[gnu::noinline]] bool TakeLimited(const ProcessType* type, Owner owner,
                                     NoRoom& why) {
    if (processes_of_.Take(owner, 1) == OwnerLimits::Taken::kRefused) {
      why = NoRoom::kForOwner;
      return false;
    }
    if (type_limits_.Take(type)) return true;
    processes_of_.Give(owner, 1);
    why = NoRoom::kForType;
    return false;
  }
  [[gnu::noinline]] void GiveLimited(const ProcessType* type, Owner owner) {
    type_limits_.Give(type);
    processes_of_.Give(owner, 1);
  }

  const uint32_t node_;
  const uint32_t incarnation_;
  Homes* homes_ = nullptr;  // null: all processes are volatile
  Wake wake_;               // null: no process is dormant
  SlotTable<Process> slots_;
  // False: a beginning and an end of a process pay only this test.
  const bool has_limits_;
  TypeLimits type_limits_;
  // Counts either from the start or never.
  mutable OwnerLimits processes_of_;
  mutable OwnerLimits mailbox_bytes_of_;
};

inline Process* ProcessTable::Reserve(Cache& cache, const ProcessType* type,
                                      uint16_t method, uint8_t priority,
                                      Owner owner, const Pid& parent,
                                      uint64_t now_unix_ns, NoRoom& why) {
  if (has_limits_ && !TakeLimited(type, owner, why)) [[unlikely]] {
    return nullptr;
  }
  const uint32_t slot = cache.Allocate(slots_);
  if (slot == SlotTable<Process>::kNoSlot) {
    if (has_limits_) GiveLimited(type, owner);
    why = NoRoom::kInTable;
    return nullptr;
  }
  Process& process = slots_.At(slot);
  Prepare(process, slot, type, method, priority, owner, parent, now_unix_ns);
  return &process;
}

[[gnu::always_inline]] inline void ProcessTable::Prepare(
    Process& process, uint32_t slot, const ProcessType* type, uint16_t method,
    uint8_t priority, Owner owner, const Pid& parent, uint64_t now_unix_ns) {
  ACTORD_ASSERT_HOT(owner != Owner::kAny,
                    "process_table.h: nobody owns what kAny stands for");
  ACTORD_ASSERT_HOT((process.generation.load() & 1) == 0 &&
                        (process.activity.load() & Activity::kEnded) != 0,
                    "process_table.h: no process is in a free slot");
  process.slot.store(slot, std::memory_order_relaxed);
  WillWrite(&process.next_tag);
  process.next_tag = 1;
  process.keep_result = false;
  process.cancel_seen = false;
  // Release: a thread that still looks at the slot's former process, and has
  // read one of these values with acquire, then sees that the generation has
  // changed.
  process.type.store(type, std::memory_order_release);
  process.steps.store(0, std::memory_order_release);
  process.started_unix_ns.store(now_unix_ns, std::memory_order_release);
  process.parent.Store(parent);
  process.yields_count.store(0, std::memory_order_release);
  process.method.store(method, std::memory_order_release);
  process.owner.store(owner, std::memory_order_release);
  process.priority.store(priority, std::memory_order_release);
  process.cancel_requested.store(false, std::memory_order_release);
  process.wanted.store(0, std::memory_order_relaxed);
  WillWrite(&process.generation);
  // Release: pairs with Find. Odd: the process lives.
  process.generation.store(
      process.generation.load(std::memory_order_relaxed) + 1,
      std::memory_order_release);
}

}  // namespace actord::runtime
