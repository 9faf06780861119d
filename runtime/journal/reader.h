// Reads the records of the journal in their order, as far as they are durable.
//
//   JournalReader reader = journal.Read(lsn);
//   for (;;) {
//     absl::StatusOr<bool> more = reader.Next();
//     if (!more.ok()) return more.status();
//     if (!*more) break;  // the end of the durable records; go on later
//     Use(reader.record());
//   }
//
// Thread-safety: one thread at a time; several readers and everything else of
// the journal at the same time. Lifetime: ends before the journal.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/format.h"
#include "runtime/journal/segment.h"
#include "runtime/journal/segments.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"

namespace actord::runtime {

class JournalReader {
 public:
  // Begins with the record at `from`, or the first one behind it.
  JournalReader(const Segments& segments, const StoreId& store,
                const Atomic<uint64_t>& durable, uint64_t from)
      : segments_(segments), store_(store), durable_(durable), from_(from) {}

  // The place of a group in the journal, and the link that it continues.
  struct Place {
    std::shared_ptr<Segment> segment;
    uint64_t offset = 0;
    Link link;
  };
  // The key is the position of the group's first record.
  using Places = std::map<uint64_t, Place>;
  // Adds the place of each group that the reader passes. `places` is borrowed.
  void KeepPlacesIn(Places& places) { places_ = &places; }
  // Begins at a place that a reader of the same journal has kept, instead of
  // the beginning of the file. Precondition: Next was not called, and `from` is
  // not before the place.
  void BeginAt(const Place& place) {
    ACTORD_ASSERT(segment_ == nullptr && place.link.lsn <= from_,
                  "reader.h: the place is before the beginning");
    segment_ = place.segment;
    place_ = place.offset;
    link_ = place.link;
  }

  // True: record() is the next record. False: no further record is durable yet.
  // NOT_FOUND: the position was trimmed away. OUT_OF_RANGE: it lies behind
  // everything that is durable. DATA_LOSS: the disk has changed or cannot be
  // read.
  absl::StatusOr<bool> Next();
  // The payload of the record is valid until the next call of Next.
  [[nodiscard]] const RecordView& record() const { return record_; }

 private:
  absl::Status Seek();
  // Reads the next group. False: none is durable.
  absl::StatusOr<bool> NextGroup();

  const Segments& segments_;
  const StoreId store_;
  const Atomic<uint64_t>& durable_;
  const uint64_t from_;

  std::shared_ptr<Segment> segment_;
  // The expected place of the next group, and the link that it continues.
  uint64_t place_ = 0;
  Link link_;
  Group group_;
  Places* places_ = nullptr;
  // Records of group_ that were not returned yet, and the position of the
  // first.
  std::string_view rest_;
  uint64_t lsn_ = 0;
  RecordView record_;
};

}  // namespace actord::runtime
