// The writes since the last batch, before they are written. Reads show the
// store as it will be. An entry that appears and disappears within a batch
// costs no write.
//
// Thread-safety: one thread at a time. Lifetime: ends before the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/records/field_codec.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

class StateBatch {
 public:
  explicit StateBatch(StateStore& store) : store_(store) {}

  absl::StatusOr<std::optional<std::string>> Get(const std::string& key);
  // Same as Get, and decodes the value. DATA_LOSS: the value is damaged.
  template <typename T>
  absl::StatusOr<std::optional<T>> Read(const std::string& key) {
    absl::StatusOr<std::optional<std::string>> bytes = Get(key);
    if (!bytes.ok()) return bytes.status();
    if (!bytes->has_value()) return std::optional<T>();
    std::optional<T> value(std::in_place);
    const absl::Status status = DecodeFields(**bytes, *value);
    if (!status.ok()) return Damaged(status);
    return value;
  }

  void Put(std::string key, std::string value);
  // Puts a key that is not in the store. Until it is written, Erase costs
  // nothing.
  void PutNew(std::string key, std::string value);
  void Erase(std::string key);
  // Same as StateStore::Scan, of all keys with the prefix.
  absl::Status Scan(const std::string& prefix, StateStore::Use use);

  // Writes everything as one batch, together with `writes`, whose keys must not
  // be in the batch.
  absl::Status Write(std::vector<StateWrite>&& writes);

  static absl::Status Damaged(const absl::Status& status);

 private:
  struct Entry {
    std::optional<std::string> value;
    bool is_new = false;  // the store does not have the key
  };

  void Set(std::string&& key, std::optional<std::string>&& value, bool is_new);

  StateStore& store_;
  absl::btree_map<std::string, Entry> entries_;
};

}  // namespace actord::runtime
