// Names of processes and their holders. Each owner has names of its own: two
// processes of different owners may hold the same text.
//
// Only a live process holds a name. An end first makes the process unfindable
// and then releases its names. A lookup between these two steps finds an ended
// process, and treats the name as free. The bit Wanted::kNamed is paired with
// the generation as process.h says.
//
// Thread-safety: any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/actors/owned_name.h"
#include "runtime/process/end_record.h"
#include "runtime/process/owner.h"
#include "runtime/process/process_info.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

// INVALID_FIELD for `field` if `name` breaks kNameRule (actord/text.h).
absl::Status CheckName(std::string_view field, std::string_view name);

// Writes a change into the journal before another thread can see it. Called
// under the lock of the table, when all other checks have passed. False: the
// change must not happen.
using Commit = absl::FunctionRef<bool()>;
inline bool AlwaysCommits() { return true; }
inline constexpr bool (&kNoCommit)() = AlwaysCommits;
absl::Status CommitRefused();

class Names {
 public:
  // Maximum number of names of one process.
  static constexpr size_t kMaxOfProcess = 64;
  static constexpr size_t kMaxNear = 16;
  // For a caller that finds the holder of a name or else starts one: how often
  // it looks the name up. The holder may end, or a new one may begin, between
  // two steps of the caller.
  static constexpr int kMaxLookups = 16;

  explicit Names(const ProcessTable& processes) : processes_(processes) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // OK: the process now holds the name, or held it already. ALREADY_EXISTS:
  // another process holds the name, and its PID is stored in `holder`.
  // FAILED_PRECONDITION: the process does not live. RESOURCE_EXHAUSTED: the
  // process has kMaxOfProcess names. INVALID_ARGUMENT: `name` is not a valid
  // name. `commit`: see Commit. UNAVAILABLE: `commit` has refused.
  absl::Status Register(std::string_view name, const Pid& pid, Pid& holder,
                        Commit commit = kNoCommit);
  // Same as Register, for a process of `owner` that `commit` makes findable, or
  // that may be dormant.
  absl::Status RegisterNew(std::string_view name, Owner owner, const Pid& pid,
                           Pid& holder, Commit commit = kNoCommit);
  // NOT_FOUND: the process does not hold the name.
  absl::Status Release(std::string_view name, const Pid& pid,
                       Commit commit = kNoCommit);
  // NAME_NOT_FOUND: no live process of the owner holds the name.
  [[nodiscard]] absl::StatusOr<Pid> Find(Owner owner,
                                         std::string_view name) const;
  // Names of live processes of the owner that stand around `name` in the order
  // of the alphabet: at most kMaxNear before it, and as many after it.
  [[nodiscard]] std::vector<std::string> Near(Owner owner,
                                              std::string_view name) const;
  // One of the names that the process holds; nullopt: it holds none.
  [[nodiscard]] std::optional<std::string> NameOf(const Pid& pid) const;
  // The names that the process holds, at most `max`. The name that it has held
  // longest comes first.
  [[nodiscard]] std::vector<std::string> NamesOf(const Pid& pid,
                                                 size_t max) const;
  // See Runtime::ListNames.
  [[nodiscard]] NamePage List(Owner by, std::string_view prefix,
                              uint64_t first_sequence, size_t page_size) const;

  // Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kNamed;
  static constexpr bool kEndNeedsOutcome = false;
  void OnEnd(const EndRecord& end, Lane& lane);

  [[nodiscard]] size_t size() const;

 private:
  struct Holder {
    Pid pid;
    uint64_t sequence = 0;  // orders by age
  };
  using Holders = std::map<OwnedName, Holder, std::less<>>;

  absl::Status Enter(std::string_view name, Owner owner, const Pid& pid,
                     Pid& holder, Commit commit);
  void Erase(Holders::iterator name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessTable& processes_;
  mutable Mutex mutex_;
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  Holders holders_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Holders::iterator> by_age_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Pid, std::vector<Holders::iterator>> names_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
