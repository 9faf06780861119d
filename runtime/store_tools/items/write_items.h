// Makes a store from items: META, and a state store that has applied all
// records. The journal begins after all positions of the items.
//
// The store is made beside its place, below NAME.importing, and moved there
// when it is complete, so that no end of the program leaves half a store.
//
// Thread-safety: one thread at a time. Lifetime: ends before the file system.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"
#include "runtime/store_tools/items/store_items.h"

namespace actord::runtime {

class StoreWriter {
 public:
  // ALREADY_EXISTS: `directory` exists and is not empty.
  static absl::StatusOr<std::unique_ptr<StoreWriter>> Begin(
      const std::string& directory, FileSystem& files);
  // Removes the unfinished store, unless End has succeeded.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  // The StoreItem first. INVALID_ARGUMENT: the item contradicts itself or an
  // earlier item.
  absl::Status Add(const AnyItem& item);
  // Makes the store durable, checks it as `actorctl store verify` does, and
  // moves it to its place. DATA_LOSS: the items do not fit together.
  absl::Status End();

 private:
  StoreWriter(std::string directory, FileSystem& files)
      : directory_(std::move(directory)),
        making_(directory_ + ".importing"),
        files_(files) {}

  absl::Status Prepare();
  absl::Status Take(const StoreItem& item);
  absl::Status Take(const OwnerItem& item);
  absl::Status Take(const records::Plugin& item);
  absl::Status Take(const ProcessItem& item);
  absl::Status Take(const LetterItem& item);
  absl::Status Take(const OutcomeItem& item);
  absl::Status Take(const IdItem& item);
  absl::Status TakeMail(const ProcessItem& item);
  absl::Status TakeRest(const ProcessItem& item);
  // Checks that the position is before the position of the whole store.
  absl::Status Check(uint64_t position, const std::string& what) const;
  // Puts a key that no earlier item had. `what` names the item.
  absl::Status PutOnce(std::string key, std::string value,
                       const std::string& what);
  absl::Status Put(std::string key, std::string value);
  absl::Status Write();
  absl::Status Move();

  const std::string directory_;
  const std::string making_;
  FileSystem& files_;
  std::unique_ptr<StateStore> state_;
  StoreItem store_;
  StoreMeta meta_;
  // Keys that more than one item could have.
  absl::flat_hash_set<std::string> once_;
  std::vector<std::pair<std::string, std::string>> batch_;
  size_t batch_bytes_ = 0;
  bool has_ended_ = false;
};

}  // namespace actord::runtime
