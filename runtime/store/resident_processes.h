// The processes that records have touched since the last batch, decoded. Their
// entries and images are written once a batch, however many steps changed
// them.
//
// Thread-safety: one thread at a time. Lifetime: ends before the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/process/pid.h"
#include "runtime/store/state_batch.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

struct Resident {
  Pid pid;
  ProcessEntry entry;
  std::optional<ImageEntry> image;  // set: changed since the last batch
  bool changed = false;
  bool in_store = false;

  records::RuntimeImage& runtime() { return entry.runtime; }
  [[nodiscard]] Owner owner() const { return entry.runtime.owner; }
};

class ResidentProcesses {
 public:
  explicit ResidentProcesses(StateBatch& batch) : batch_(batch) {}

  // Null: no such process lives. The pointer is valid until Remove or
  // WriteChanged.
  absl::StatusOr<Resident*> Find(const Pid& pid);
  // Precondition: Find has found none.
  Resident& Add(const Pid& pid);
  void Remove(const Pid& pid);
  // Puts everything that has changed into the batch.
  void WriteChanged();

 private:
  // More than this many are not kept from one batch to the next.
  static constexpr size_t kMaxKept = 65'536;

  StateBatch& batch_;
  absl::flat_hash_map<Pid, std::unique_ptr<Resident>> residents_;
};

}  // namespace actord::runtime
