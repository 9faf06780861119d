#include "runtime/store_tools/overlay_state.h"

namespace actord::runtime {

absl::StatusOr<std::optional<std::string>> OverlayState::Get(
    std::string_view key) {
  const auto found = changed_.find(key);
  if (found != changed_.end()) return found->second;
  if (below_ == nullptr) return std::optional<std::string>();
  return below_->Get(key);
}

absl::Status OverlayState::Write(std::span<const StateWrite> writes) {
  for (const StateWrite& write : writes) changed_[write.key] = write.value;
  return absl::OkStatus();
}

absl::Status OverlayState::Scan(std::string_view first, std::string_view last,
                                Use use) {
  auto entry = changed_.lower_bound(first);
  bool goes_on = true;
  // Uses the changed entries below `key`.
  const auto use_up_to = [&](std::string_view key) {
    for (; goes_on && entry != changed_.end() && entry->first < key; ++entry) {
      if (entry->second.has_value()) {
        goes_on = use(entry->first, *entry->second);
      }
    }
    return goes_on;
  };
  if (below_ != nullptr) {
    absl::Status status = below_->Scan(
        first, last, [&](std::string_view key, std::string_view value) {
          if (!use_up_to(key)) return false;
          if (entry != changed_.end() && entry->first == key) return true;
          goes_on = use(key, value);
          return goes_on;
        });
    if (!status.ok()) return status;
  }
  use_up_to(last);
  return absl::OkStatus();
}

}  // namespace actord::runtime
