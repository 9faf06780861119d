// The durable processes of this runtime: their homes, what a turn knows of each
// beside the process itself, and the way of their records into the journal.
//
// Thread-safety: any thread; a DurableState belongs to the turn of its process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/durable/durable_store.h"
#include "runtime/process/outcome.h"
#include "runtime/process/payload.h"
#include "runtime/process/process.h"
#include "runtime/records/records.h"
#include "runtime/system/clock.h"
#include "runtime/table/homes.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

struct DurableState {
  // The next turn restores the state from `image`.
  bool restore_due = false;
  std::string image;
  // The process cannot be restored: it takes messages, and no step.
  bool is_quarantined = false;
  // The calls that the process has received and not answered: the position that
  // names each for the process, and the handle that its caller waits for.
  absl::flat_hash_map<uint64_t, uint64_t> calls;
  // The process has ended, and nobody knows it yet, because the record of the
  // end is not durable.
  struct End {
    EndCause cause;
    Payload result;
  };
  std::optional<End> end;
};

class DurableProcesses {
 public:
  // `processes` gets the homes. Both are borrowed.
  DurableProcesses(DurableStore& store, ProcessTable& processes,
                   const Clock& clock);
  ~DurableProcesses();
  DurableProcesses(const DurableProcesses&) = delete;
  DurableProcesses& operator=(const DurableProcesses&) = delete;

  // Whether processes of this type can be durable. (Replay types cannot yet.)
  static bool IsSupported(const ProcessType& type) {
    return type.durability.kind == rules::Durability::kSnapshotImage ||
           type.durability.kind == rules::Durability::kFlatImage;
  }

  Homes& homes() { return homes_; }
  Releases& releases() { return store_.releases(); }
  DurableStore& store() { return store_; }

  // Appends a record; returns its position. RESOURCE_EXHAUSTED,
  // STEP_TOO_LARGE: the record is too large. UNAVAILABLE: the journal has
  // failed or is closed.
  absl::StatusOr<uint64_t> Append(const records::Any& record);
  // A caller that waits for this position also waits for all earlier records.
  [[nodiscard]] uint64_t LastPosition() const {
    return store_.journal().Tail() - 1;
  }
  // JOURNAL_BEHIND if the disk is behind: work from outside is refused.
  [[nodiscard]] absl::Status CheckBehind() const;

  // DRAINING, for the submitter of a process whose Init is put off until the
  // next start.
  static absl::Status BeginsLater();

  // The time of the store's clock, in nanoseconds.
  [[nodiscard]] uint64_t NowNs() const {
    return opened_at_ns_ + (clock_.MonotonicNs() - opened_monotonic_ns_);
  }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // The home of a process with this name; "": any home.
  uint32_t HomeFor(std::string_view name);

  // Begins the state of a durable process. Precondition: no other thread knows
  // of the process.
  DurableState& Begin(const Process& process);
  DurableState& StateOf(const Process& process) const;
  // Ends the state. In the last turn of the process, or instead of a first.
  void Forget(const Process& process);
  // Number of durable processes.
  [[nodiscard]] uint64_t live() const {
    return live_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kChunkStates = 4096;
  static constexpr uint32_t kChunks = (uint32_t{1} << 28) / kChunkStates;
  using Chunk = std::array<std::unique_ptr<DurableState>, kChunkStates>;

  std::unique_ptr<DurableState>& PlaceOf(const Process& process) const;

  DurableStore& store_;
  const Clock& clock_;
  const uint64_t opened_at_ns_;
  const uint64_t opened_monotonic_ns_;
  Homes homes_;
  std::atomic<uint32_t> next_home_{0};
  std::atomic<uint64_t> live_{0};
  // By the slot of the process.
  const std::unique_ptr<std::array<std::atomic<Chunk*>, kChunks>> states_;
};

}  // namespace actord::runtime
