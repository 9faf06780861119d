// The owners of processes: the names of clients, and the numbers by which the
// runtime knows them.
//
// A name gets its number with its first call, and keeps the number as long as
// the daemon runs, even if its tokens are revoked, because its processes live
// on. With a store the name keeps its number for as long as the store exists.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/process/owner.h"

namespace actord::daemon {

class Owners {
 public:
  // All numbers except kNobody and kAny.
  static constexpr size_t kMax = 65'534;

  // At most `max` names, at most kMax.
  explicit Owners(size_t max = kMax) : max_(max) {}
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;

  // Keeps the number of a new name in the store, before anything has the
  // number. On an error the name gets no number.
  using Keep = std::function<absl::Status(runtime::Owner, const std::string&)>;
  // Takes over the names in the store: the first gets the number 1, and so on.
  // To be called once, before any other function.
  void Restore(std::vector<std::string> names, Keep keep);

  // The number of the name; an error of Keep; or RESOURCE_EXHAUSTED
  // (OWNER_LIMIT), which is counted: the name is new, and there is no number
  // left.
  [[nodiscard]] absl::StatusOr<runtime::Owner> NumberOf(std::string_view name);
  // nullopt: no client of this name has called.
  [[nodiscard]] std::optional<runtime::Owner> Find(std::string_view name) const;
  // "": nobody.
  [[nodiscard]] std::string NameOf(runtime::Owner owner) const;

  // How often a name got no number.
  [[nodiscard]] uint64_t refused() const;

 private:
  const size_t max_;
  // Null: there is no store. Written before other threads know of the object.
  Keep keep_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, runtime::Owner> numbers_
      ABSL_GUARDED_BY(mutex_);
  // The name of number 1 comes first.
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Writes the owners of processes into an answer, if its client may see the
// processes of several owners; otherwise writes nothing.
//
// Thread-safety: a value. Ownership: borrows the Owners.
class OwnerLabels {
 public:
  // `owners` null: nothing is written.
  explicit OwnerLabels(const Owners* owners) : owners_(owners) {}

  // `proto` is a message with the field `owner`.
  template <typename Proto>
  void Write(runtime::Owner owner, Proto* proto) const {
    if (owners_ == nullptr || owner == runtime::Owner::kNobody) return;
    proto->set_owner(NameOf(owner));
  }
  // "" if nothing is written.
  [[nodiscard]] std::string NameOf(runtime::Owner owner) const {
    return owners_ == nullptr ? std::string() : owners_->NameOf(owner);
  }

 private:
  const Owners* owners_;
};

}  // namespace actord::daemon
