// Reads the items of a state store.
//
// Thread-safety: one thread at a time. Lifetime: ends before the state store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"
#include "runtime/store_tools/items/store_items.h"

namespace actord::runtime {

class ItemReader {
 public:
  // `lost` is called for each part that cannot be read; the reader then
  // continues without that part. Null: the first such part ends the reading
  // with its error. Borrowed.
  using Lost = absl::FunctionRef<void(const std::string& what)>;
  ItemReader(StateStore& state, const Lost* lost)
      : state_(state), lost_(lost), buffers_(pool_) {}
  ItemReader(const ItemReader&) = delete;
  ItemReader& operator=(const ItemReader&) = delete;

  // Calls `use` with the records of the journal, in their order. An error of
  // `use` ends the walk. To be called first: the bodies that only the journal
  // has are kept in memory.
  using Records = absl::FunctionRef<absl::Status(
      absl::FunctionRef<absl::Status(const RecordView&)> use)>;
  absl::Status LoadBodies(Records records);

  // The entry of the state store about the whole store. DATA_LOSS: there is
  // none.
  absl::StatusOr<StoreMeta> Meta();
  // These three functions, in this order, give all items except the StoreItem:
  // owners and plugins; the wanted processes; dead letters, outcomes and ids.
  // Each kind is in the order of its keys. A function ends with the first error
  // of `use`.
  using Use = absl::FunctionRef<absl::Status(AnyItem&&)>;
  absl::Status ReadHead(Use use);
  absl::Status ReadProcesses(
      absl::FunctionRef<bool(const Pid&, const ProcessEntry&)> wants, Use use);
  absl::Status ReadTail(Use use);

 private:
  // Scans all keys that begin with `prefix`. `use` returns an error if an entry
  // is wrong.
  absl::Status Scan(const std::string& prefix, const std::string& what,
                    absl::FunctionRef<absl::Status(std::string_view key,
                                                   std::string_view value)>
                        use);
  // The first key behind `key` from which the state can be read; `end` if there
  // is none. Finds the end of one damaged block; other blocks may follow.
  std::string NextReadable(std::string key, const std::string& end);
  // OK if `lost` was called.
  absl::Status Lose(const std::string& what, const absl::Status& why);
  // Fills in the body of the mail.
  absl::Status Complete(uint64_t position, Mail& mail) const;
  // An error: the process cannot be read.
  absl::Status ReadRest(ProcessItem& process);
  absl::Status ReadIds(Use use);

  StateStore& state_;
  const Lost* const lost_;
  BufferPool pool_;
  BufferCache buffers_;
  absl::flat_hash_map<uint64_t, StoredBody> bodies_;  // by position
};

}  // namespace actord::runtime
