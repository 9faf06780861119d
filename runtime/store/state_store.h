// The state store: keys and values that the records of the journal make
// (state_keys.h). It has no log of its own. A crash loses the latest batches,
// and the journal makes them again.
//
// Thread-safety: one thread at a time; in the daemon, any thread may read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace actord::runtime {

struct StateWrite {
  std::string key;
  std::optional<std::string> value;  // not set: the key is removed
};

// Errors of all functions: DATA_LOSS if the store is damaged,
// RESOURCE_EXHAUSTED if its disk is full, INTERNAL otherwise. After an error of
// Write or Flush the store must be opened again.
class StateStore {
 public:
  virtual ~StateStore() = default;

  // nullopt: there is no such key.
  virtual absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) = 0;
  // Writes one batch. After a crash either the whole batch is there or nothing
  // of it, and no later batch without it.
  virtual absl::Status Write(std::span<const StateWrite> writes) = 0;
  // Makes all batches durable.
  virtual absl::Status Flush() = 0;
  // Calls `use` with the entries from `first` on, below `last`, in the order of
  // their keys, until it returns false. `use` must not change the store.
  using Use =
      absl::FunctionRef<bool(std::string_view key, std::string_view value)>;
  virtual absl::Status Scan(std::string_view first, std::string_view last,
                            Use use) = 0;
  // Makes all batches durable, and makes a copy of the store in a directory
  // that does not exist and is on the same file system. Any thread, also while
  // another one writes: the copy has all batches that were written before, and
  // perhaps later ones, each as a whole and none without the earlier ones.
  // UNIMPLEMENTED: the store has no files.
  virtual absl::Status Copy(const std::string& /*directory*/) {
    return absl::UnimplementedError("state store: it has no files to copy");
  }
};

}  // namespace actord::runtime
