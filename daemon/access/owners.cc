#include "daemon/access/owners.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

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
        absl::StrCat("clients of ", names_.size(),
                     " names have called since the daemon began, which is the "
                     "limit: restart the daemon, or use one of these names"),
        absl::Minutes(1));
  }
  names_.emplace_back(name);
  const runtime::Owner owner{static_cast<uint16_t>(names_.size())};
  numbers_.emplace(name, owner);
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
