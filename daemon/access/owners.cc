#include "daemon/access/owners.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

void Owners::Restore(std::vector<std::string> names, Keep keep) {
  keep_ = std::move(keep);
  const absl::MutexLock lock(&mutex_);
  names_ = std::move(names);
  for (size_t i = 0; i < names_.size(); ++i) {
    numbers_.emplace(names_[i], runtime::Owner{static_cast<uint16_t>(i + 1)});
  }
}

absl::StatusOr<runtime::Owner> Owners::NumberOf(std::string_view name) {
  if (const auto known = Find(name)) return *known;
  const absl::MutexLock lock(&mutex_);
  const absl::string_view key(name.data(), name.size());
  if (const auto it = numbers_.find(key); it != numbers_.end()) {
    return it->second;
  }
  if (names_.size() >= std::min(max_, kMax)) {
    ++refused_;
    return runtime::Retryable(
        absl::StatusCode::kResourceExhausted, runtime::reason::kOwnerLimit,
        absl::StrCat("clients of ", names_.size(), " names have called since ",
                     keep_ == nullptr
                         ? "the daemon began, which is the limit: restart the "
                           "daemon, or use one of these names"
                         : "the store was made, which is the limit: use one of "
                           "these names"),
        absl::Minutes(1));
  }
  const runtime::Owner owner{static_cast<uint16_t>(names_.size() + 1)};
  std::string text(name);
  if (keep_ != nullptr) {
    absl::Status kept = keep_(owner, text);
    if (!kept.ok()) return kept;
  }
  numbers_.emplace(text, owner);
  names_.push_back(std::move(text));
  return owner;
}

std::optional<runtime::Owner> Owners::Find(std::string_view name) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto it = numbers_.find(absl::string_view(name.data(), name.size()));
  return it == numbers_.end() ? std::nullopt : std::optional(it->second);
}

std::string Owners::NameOf(runtime::Owner owner) const {
  const auto number = static_cast<size_t>(owner);
  const absl::ReaderMutexLock lock(&mutex_);
  return number == 0 || number > names_.size() ? "" : names_[number - 1];
}

uint64_t Owners::refused() const {
  const absl::ReaderMutexLock lock(&mutex_);
  return refused_;
}

}  // namespace actord::daemon
