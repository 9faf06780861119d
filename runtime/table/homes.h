// The homes of a store: the map from durable PIDs (home_pid.h) to slots of the
// process table. A durable PID stays the same over restarts, and its process
// gets any slot of the process table. A dormant process has no slot: it is only
// in the store, until it is needed.
//
// A process leaves the process table and comes back only under the lock
// ResidencyOf its PID. A thread that holds the lock and finds the process in a
// slot can put an event into its mailbox. (Not asserted below: a Mutex does not
// know its holder. tests/model/homes.pml and the simulator check that rule.)
//
// Thread-safety: any thread; look-ups take no lock. The table never shrinks,
// so a stale number can be read without harm.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "runtime/process/pid.h"
#include "runtime/system/assert.h"
#include "runtime/system/mutex.h"
#include "runtime/table/home_pid.h"
#include "runtime/table/wake_times.h"

namespace actord::runtime {

// The place of a process in the process table.
struct ProcessSlot {
  uint32_t slot = 0;
  // The generation of the slot. For a dormant process: the note that Sleep got,
  // or 0.
  uint32_t generation = 0;

  // The place of a process that is dormant.
  static constexpr uint32_t kDormant = UINT32_MAX;
  [[nodiscard]] bool is_dormant() const { return slot == kDormant; }
  friend bool operator==(const ProcessSlot&, const ProcessSlot&) = default;
};

class Homes {
 public:
  // Slots of one home.
  static constexpr uint32_t kMaxSlots = uint32_t{1} << 20;

  // `epoch`: not 0, and above the epoch of each earlier opening of the store.
  explicit Homes(uint32_t epoch);
  ~Homes();
  Homes(const Homes&) = delete;
  Homes& operator=(const Homes&) = delete;

  // Sets the maximum number of PIDs from Draw and Keep that have not left. To
  // be called before other threads use the homes.
  void SetMax(uint64_t max) { max_ = max; }
  [[nodiscard]] uint64_t max() const { return max_; }
  // False: Draw gives out no PID now.
  [[nodiscard]] bool IsBelowMax() const {
    return used_.load(std::memory_order_relaxed) < max_;
  }
  // A PID of the home that no process has had. nullopt: the home has no slot
  // left, or there are `max` PIDs. Precondition: `home` is below kHomes.
  std::optional<Pid> Draw(uint32_t home);
  // Keeps the slot of a PID that an earlier opening of the store has drawn, so
  // that Draw leaves it alone. False: no store has drawn this PID.
  bool Keep(const Pid& pid);
  // From now on the process of the PID can be found in this slot. Precondition:
  // Draw or Keep has had the PID; the generation of the resident is odd, and
  // only the caller uses this slot.
  void Enter(const Pid& pid, const ProcessSlot& resident);
  // From now on the process of the PID exists and is dormant. Precondition:
  // Keep has had the PID, and only the caller uses the homes.
  void EnterDormant(const Pid& pid);
  // Makes the resident process of the PID dormant. NoteOf returns `note` until
  // it wakes. Precondition: the caller holds ResidencyOf the PID,
  // and makes the generation of the slot even afterwards.
  void Sleep(const Pid& pid, uint32_t note);
  // Precondition: the process is dormant, and the caller holds ResidencyOf the
  // PID.
  [[nodiscard]] uint32_t NoteOf(const Pid& pid) const;
  // The process in this slot of the process table has this PID.
  void NameResident(const Pid& pid, const ProcessSlot& resident);
  // From now on the dormant process is in this slot. Precondition: the caller
  // holds ResidencyOf the PID; the resident has its name, and its generation is
  // odd.
  void Wake(const Pid& pid, const ProcessSlot& resident);
  // Precondition: MayHaveLived.
  [[nodiscard]] Mutex& ResidencyOf(const Pid& pid) const {
    ACTORD_ASSERT_HOT(MayHaveLived(pid), "homes.h: the process may have lived");
    return (*homes_)[HomeOf(pid)].residency;
  }
  // How often processes of this home have become dormant. Precondition: the
  // caller holds ResidencyOf the PID.
  [[nodiscard]] uint64_t SleepsOf(const Pid& pid) const {
    ACTORD_ASSERT_HOT(MayHaveLived(pid), "homes.h: the process may have lived");
    return (*homes_)[HomeOf(pid)].sleeps.load(std::memory_order_relaxed);
  }
  // From now on no dormant process comes back. When this returns, no thread is
  // bringing one back. To be called before the state of the processes is torn
  // down.
  void RefuseWakes();
  // A thread that holds ResidencyOf a PID and reads false may bring its process
  // back as long as it holds the lock.
  [[nodiscard]] bool RefusesWakes() const {
    return refuses_wakes_.load(std::memory_order_relaxed);
  }
  // The number of dormant processes.
  [[nodiscard]] uint64_t dormant() const {
    return dormant_.load(std::memory_order_relaxed);
  }
  // When dormant processes come back for their timers. Changed for a PID only
  // under ResidencyOf it, except by the thread that takes what is due.
  [[nodiscard]] WakeTimes& wake_times() { return wake_times_; }
  // To be called when the process of the PID has ended, or never began. The PID
  // is used up.
  void Leave(const Pid& pid);

  // nullopt: no process with this PID is in memory. A process may end, become
  // dormant or come back at any moment: compare its generation.
  [[nodiscard]] std::optional<ProcessSlot> Find(const Pid& pid) const;
  // nullopt: the resident is not durable, or has left.
  [[nodiscard]] std::optional<Pid> PidOf(const ProcessSlot& resident) const;
  // Whether the PID may belong to a process that is or was here, in this or an
  // earlier opening of the store.
  [[nodiscard]] bool MayHaveLived(const Pid& pid) const;
  // Whether the PID belonged to a process here, in this or an earlier opening
  // of the store.
  [[nodiscard]] bool HasEnded(const Pid& pid) const;
  // The slots of this home below this number may have processes.
  [[nodiscard]] uint32_t SlotsInUse(uint32_t home) const;
  // The PID of the process in this slot of the home; nullopt: there is none.
  [[nodiscard]] std::optional<Pid> PidIn(uint32_t home, uint32_t slot) const;

 private:
  static constexpr uint32_t kChunkEntries = 4096;
  static constexpr uint32_t kChunks = kMaxSlots / kChunkEntries;
  static constexpr uint32_t kResidentChunks =
      (uint32_t{1} << 28) / kChunkEntries;

  // The process in a slot of a home. A writer clears `name`, writes `resident`,
  // and then writes `name`, both with release. A reader reads `name`,
  // `resident` (both with acquire) and `name` again: two equal names mean that
  // `resident` belongs to them, because no name comes twice. When a process
  // becomes dormant and comes back, `name` stays, and `resident` changes.
  struct Entry {
    std::atomic<uint64_t> name{0};  // epoch and generation of the PID
    std::atomic<uint64_t> resident{0};
  };
  // The PID of the process in a slot of the process table. Written and read in
  // the same way; `generation` is the generation of the slot.
  struct Named {
    std::atomic<uint32_t> generation{0};
    AtomicPid pid;
  };
  using EntryChunk = std::array<Entry, kChunkEntries>;
  using NamedChunk = std::array<Named, kChunkEntries>;

  struct Home {
    std::array<std::atomic<EntryChunk*>, kChunks> chunks{};
    mutable Mutex residency;
    // Written under `residency`.
    std::atomic<uint64_t> sleeps{0};
    mutable Mutex mutex;
    // Slots below `next` are drawn, kept or in `free`.
    uint32_t next ABSL_GUARDED_BY(mutex) = 0;
    // Slots without a process, with the next generation of each.
    std::vector<ProcessSlot> free ABSL_GUARDED_BY(mutex);
    // A bit for each slot from `next` on: true if Keep has taken it.
    std::vector<bool> kept ABSL_GUARDED_BY(mutex);
  };

  // Null: no process has had a slot in this chunk.
  [[nodiscard]] const Entry* FindEntry(const Pid& pid) const;
  static Entry& MakeEntry(Home& home, uint32_t slot);
  Named& MakeNamed(uint32_t slot);

  std::optional<Pid> DrawFrom(uint32_t home_number);

  const uint32_t epoch_;
  uint64_t max_ = UINT64_MAX;
  // Number of PIDs that are drawn or kept and have not left. Relaxed: a count.
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> dormant_{0};  // relaxed: a count
  WakeTimes wake_times_;
  // Relaxed: RefuseWakes takes each lock under which it is read, after it has
  // written.
  std::atomic<bool> refuses_wakes_{false};
  const std::unique_ptr<std::array<Home, kHomes>> homes_;
  std::unique_ptr<std::array<std::atomic<NamedChunk*>, kResidentChunks>> named_;
};

}  // namespace actord::runtime
