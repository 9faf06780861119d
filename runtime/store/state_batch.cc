#include "runtime/store/state_batch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {

absl::Status StateBatch::Damaged(const absl::Status& status) {
  return absl::DataLossError(
      absl::StrCat("state store: a value is damaged: ", status.message()));
}

absl::StatusOr<std::optional<std::string>> StateBatch::Get(
    const std::string& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second.value;
  return store_.Get(key);
}

void StateBatch::Set(std::string&& key, std::optional<std::string>&& value,
                     bool is_new) {
  const auto [entry, added] = entries_.try_emplace(std::move(key));
  entry->second.value = std::move(value);
  if (added) entry->second.is_new = is_new;
}

void StateBatch::Put(std::string key, std::string value) {
  Set(std::move(key), std::move(value), false);
}

void StateBatch::PutNew(std::string key, std::string value) {
  Set(std::move(key), std::move(value), true);
}

void StateBatch::Erase(std::string key) {
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.is_new) {
    entries_.erase(found);
    return;
  }
  Set(std::move(key), std::nullopt, false);
}

absl::Status StateBatch::Scan(const std::string& prefix, StateStore::Use use) {
  const std::string last = BehindPrefix(prefix);
  auto entry = entries_.lower_bound(prefix);
  bool goes_on = true;
  // Uses the entries of the batch below `key`. False: `use` wants no more.
  const auto use_up_to = [&](std::string_view key) {
    for (; goes_on && entry != entries_.end() && entry->first < key; ++entry) {
      if (entry->second.value.has_value()) {
        goes_on = use(entry->first, *entry->second.value);
      }
    }
    return goes_on;
  };
  absl::Status status = store_.Scan(
      prefix, last, [&](std::string_view key, std::string_view value) {
        if (!use_up_to(key)) return false;
        if (entry != entries_.end() && entry->first == key) return true;
        goes_on = use(key, value);
        return goes_on;
      });
  if (!status.ok()) return status;
  use_up_to(last);
  return absl::OkStatus();
}

absl::Status StateBatch::Write(std::vector<StateWrite>&& writes) {
  writes.reserve(writes.size() + entries_.size());
  for (auto& [key, entry] : entries_) {
    writes.push_back({key, std::move(entry.value)});
  }
  entries_.clear();
  return store_.Write(writes);
}

}  // namespace actord::runtime
