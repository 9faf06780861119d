// The records of a journal that no daemon uses, by their positions. The applier
// asks for the body of a dead letter that was sent again.
//
// Thread-safety: one thread at a time. Lifetime: ends before the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/format.h"
#include "runtime/journal/segment.h"
#include "runtime/store/record_source.h"

namespace actord::runtime {

class WalkedSource final : public RecordSource {
 public:
  // Calls `use` with the intact groups of the journal, in their order, and ends
  // with the first error of `use`. The segments last as long as the journal.
  using Use =
      absl::FunctionRef<absl::Status(const Segment& segment, const Group&)>;
  using Walk = std::function<absl::Status(Use use)>;

  WalkedSource(const StoreId& store, Walk walk)
      : store_(store), walk_(std::move(walk)) {}

  // The first call walks over the journal, for the places of its groups: about
  // 60 bytes of memory for each group.
  absl::StatusOr<SourceRecord> At(uint64_t lsn) override;

 private:
  struct Place {
    const Segment* segment = nullptr;
    uint64_t place = 0;
  };

  absl::Status FindPlaces();
  // Reads the group that would have the record into `group_`.
  absl::Status ReadGroupOf(uint64_t lsn);

  const StoreId store_;
  const Walk walk_;
  std::map<uint64_t, Place> places_;  // by the position of the first record
  bool has_places_ = false;
  Group group_;
};

}  // namespace actord::runtime
