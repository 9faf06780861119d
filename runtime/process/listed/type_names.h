// Numbers for the names of process types, so that a kept result names its type
// in 16 bits. A number is never given to another name.
//
// Bounds: kMax names. Names come from plugins and from the store, not from
// clients.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class TypeNames {
 public:
  static constexpr size_t kMax = UINT16_MAX;

  TypeNames() = default;
  TypeNames(const TypeNames&) = delete;
  TypeNames& operator=(const TypeNames&) = delete;

  // From 1. 0: the name is empty, or there are kMax other names.
  uint16_t NumberOf(std::string_view name) {
    const absl::string_view key(name.data(), name.size());
    const MutexLock lock(mutex_);
    const auto it = numbers_.find(key);
    if (it != numbers_.end()) return it->second;
    if (name.empty() || names_.size() == kMax) return 0;
    names_.emplace_back(name);
    const auto number = static_cast<uint16_t>(names_.size());
    numbers_.emplace(key, number);
    return number;
  }
  // 0: the name has no number.
  [[nodiscard]] uint16_t Find(std::string_view name) const {
    const MutexLock lock(mutex_);
    const auto it = numbers_.find(absl::string_view(name.data(), name.size()));
    return it == numbers_.end() ? uint16_t{0} : it->second;
  }
  // "": no name has the number.
  [[nodiscard]] std::string NameOf(uint16_t number) const {
    const MutexLock lock(mutex_);
    return number == 0 || number > names_.size() ? std::string()
                                                 : names_[number - 1];
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, uint16_t> numbers_ ABSL_GUARDED_BY(mutex_);
  // The name of number 1 comes first.
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
