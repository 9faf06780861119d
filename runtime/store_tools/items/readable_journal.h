// The part of a damaged journal that can be read: from its first record up to
// the first group that is damaged or missing.
//
// Thread-safety: one thread at a time. Lifetime: ends before the file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/journal/format.h"
#include "runtime/journal/segment.h"
#include "runtime/store_tools/walked_source.h"

namespace actord::runtime {

class ReadableJournal {
 public:
  // An error: META cannot be read, so the journal cannot be read either.
  static absl::StatusOr<ReadableJournal> Open(const std::string& directory,
                                              FileSystem& files);

  using Use = absl::FunctionRef<absl::Status(const RecordView& record)>;
  // The records, in their order. Ends with the first error of `use`.
  absl::Status ForEach(Use use);
  // The groups, by position.
  [[nodiscard]] WalkedSource Source();

  [[nodiscard]] const Meta& meta() const { return meta_; }
  [[nodiscard]] uint64_t first_lsn() const { return meta_.first_link.lsn; }
  // The position after the last readable record.
  [[nodiscard]] uint64_t end_lsn() const { return end_lsn_; }
  // No record of the store was at this position or behind it.
  [[nodiscard]] uint64_t bound_lsn() const { return end_lsn_ + bytes_; }
  // The highest incarnation of the groups.
  [[nodiscard]] uint64_t incarnation() const { return incarnation_; }

 private:
  void OpenSegments(const std::string& directory, FileSystem& files);
  // A group of which a record cannot be read is the last one.
  absl::Status Walk(Use use);
  // Ends with the first error of `use`; OUT_OF_RANGE ends it well.
  absl::Status WalkGroups(WalkedSource::Use use);

  Meta meta_;
  std::vector<Segment> segments_;
  uint64_t end_lsn_ = 0;
  uint64_t bytes_ = 0;  // of all segments
  uint64_t incarnation_ = 0;
};

}  // namespace actord::runtime
