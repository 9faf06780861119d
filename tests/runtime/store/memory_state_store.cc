#include "tests/runtime/store/memory_state_store.h"

#include <algorithm>

namespace actord::runtime {

absl::StatusOr<std::optional<std::string>> MemoryStateStore::Get(
    std::string_view key) {
  const auto found = now_.find(key);
  if (found == now_.end()) return std::optional<std::string>();
  return std::optional<std::string>(found->second);
}

void MemoryStateStore::Apply(const std::vector<StateWrite>& batch,
                             Entries& entries) {
  for (const StateWrite& write : batch) {
    if (write.value.has_value()) {
      entries.insert_or_assign(write.key, *write.value);
    } else {
      entries.erase(write.key);
    }
  }
}

absl::Status MemoryStateStore::Write(std::span<const StateWrite> writes) {
  since_flush_.emplace_back(writes.begin(), writes.end());
  Apply(since_flush_.back(), now_);
  return absl::OkStatus();
}

absl::Status MemoryStateStore::Flush() {
  flushed_ = now_;
  since_flush_.clear();
  return absl::OkStatus();
}

absl::Status MemoryStateStore::Scan(std::string_view first,
                                    std::string_view last, Use use) {
  for (auto entry = now_.lower_bound(first);
       entry != now_.end() && entry->first < last; ++entry) {
    if (!use(entry->first, entry->second)) break;
  }
  return absl::OkStatus();
}

void MemoryStateStore::Crash(size_t kept) {
  since_flush_.resize(std::min(kept, since_flush_.size()));
  now_ = flushed_;
  for (const std::vector<StateWrite>& batch : since_flush_) Apply(batch, now_);
}

}  // namespace actord::runtime
