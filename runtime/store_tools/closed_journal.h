// The journal of a store that no daemon uses, opened only for reading.
//
// Thread-safety: one thread at a time. Lifetime: ends before the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/journal/format.h"
#include "runtime/journal/recovery.h"
#include "runtime/journal/segment.h"
#include "runtime/store_tools/walked_source.h"

namespace actord::runtime {

class ClosedJournal {
 public:
  // Walks over all groups. NOT_FOUND: the directory holds no store.
  // FAILED_PRECONDITION: a newer version has written it. DATA_LOSS: damage;
  // the message names file, offset and positions, and says what to do.
  static absl::StatusOr<std::unique_ptr<ClosedJournal>> Open(
      const std::string& directory, FileSystem& files);

  // Calls `use` with the records from `from` on, in their order. `where` is the
  // file and the offset of the record's group. Ends with the first error of
  // `use`. DATA_LOSS: the disk has changed since Open.
  using Use = absl::FunctionRef<absl::Status(const RecordView& record,
                                             const std::string& where)>;
  [[nodiscard]] absl::Status ForEach(uint64_t from, Use use) const;

  // The groups, by position.
  [[nodiscard]] WalkedSource Source() const;

  [[nodiscard]] const RecoveryReport& report() const {
    return recovered_.report;
  }
  [[nodiscard]] const Meta& meta() const { return recovered_.meta; }
  // Positions of the first record, and behind the last one.
  [[nodiscard]] uint64_t first_lsn() const {
    return recovered_.meta.first_link.lsn;
  }
  [[nodiscard]] uint64_t end_lsn() const { return recovered_.link.lsn; }
  [[nodiscard]] size_t segments() const { return recovered_.segments.size(); }
  // Segments that were made ahead and hold no group.
  [[nodiscard]] size_t spare_segments() const {
    return segments() == 0 ? 0 : segments() - 1 - recovered_.current;
  }
  [[nodiscard]] uint64_t bytes() const;

 private:
  ClosedJournal() = default;

  // Calls `use` with the groups of the segments from that of `from` on.
  absl::Status ForEachGroup(uint64_t from, WalkedSource::Use use) const;
  // Calls `use` with the groups of this segment. `link` is the link that its
  // first group continues, and afterwards the link that the next segment's
  // first group continues.
  absl::Status ForEachGroupIn(const Segment& segment, Link& link,
                              WalkedSource::Use use) const;

  Recovered recovered_;
};

}  // namespace actord::runtime
