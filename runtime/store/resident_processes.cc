#include "runtime/store/resident_processes.h"

#include <utility>

#include "runtime/store/state_keys.h"

namespace actord::runtime {

absl::StatusOr<Resident*> ResidentProcesses::Find(const Pid& pid) {
  const auto found = residents_.find(pid);
  if (found != residents_.end()) return found->second.get();
  absl::StatusOr<std::optional<ProcessEntry>> entry =
      batch_.Read<ProcessEntry>(KeyOf(KeyKind::kProcess, pid));
  if (!entry.ok()) return entry.status();
  if (!entry->has_value()) return nullptr;
  Resident& resident = Add(pid);
  resident.entry = std::move(**entry);
  resident.in_store = true;
  return &resident;
}

Resident& ResidentProcesses::Add(const Pid& pid) {
  auto& resident = residents_[pid];
  resident = std::make_unique<Resident>();
  resident->pid = pid;
  return *resident;
}

void ResidentProcesses::Remove(const Pid& pid) {
  const auto found = residents_.find(pid);
  if (found == residents_.end()) return;
  if (found->second->in_store) {
    batch_.Erase(KeyOf(KeyKind::kProcess, pid));
    batch_.Erase(KeyOf(KeyKind::kImage, pid));
  }
  residents_.erase(found);
}

void ResidentProcesses::WriteChanged() {
  for (auto& [pid, resident] : residents_) {
    if (resident->changed) {
      batch_.Put(KeyOf(KeyKind::kProcess, pid), ValueOf(resident->entry));
    }
    if (resident->image.has_value()) {
      batch_.Put(KeyOf(KeyKind::kImage, pid), ValueOf(*resident->image));
    }
    resident->image.reset();
    resident->changed = false;
    resident->in_store = true;
  }
  if (residents_.size() > kMaxKept) residents_.clear();
}

}  // namespace actord::runtime
