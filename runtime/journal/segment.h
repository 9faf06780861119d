// One segment of the journal, and functions that read its groups.
//
// Thread-safety: any thread for the file and the const members. `first_link` is
// set once, by the committer or by recovery, before the segment is the newest
// one with a group; other threads read it only after that (segments.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/journal/format.h"

namespace actord::runtime {

struct Segment {
  std::string path;
  std::unique_ptr<File> file;
  uint64_t place = 0;
  uint64_t bytes = 0;
  // The link that the first group of this segment continues.
  Link first_link;

  [[nodiscard]] uint64_t first_group_place() const {
    return place + kSegmentHeaderBytes;
  }
  [[nodiscard]] uint64_t end() const { return place + bytes; }
};

struct Group {
  GroupHeader header;
  std::string records;

  [[nodiscard]] uint64_t end_place() const {
    return header.place + GroupBytesOnDisk(header.bytes);
  }
  [[nodiscard]] uint64_t end_lsn() const { return header.lsn + header.bytes; }
};

// Reads the group at `place` of the segment. kBad: there is no intact group at
// this place. DATA_LOSS, or another error: the disk could not be read.
absl::StatusOr<Judgement> ReadGroup(const Segment& segment,
                                    const StoreId& store, uint64_t place,
                                    Group& group);

// True: the group continues `link`.
bool Continues(const Group& group, const StoreId& store, const Link& link);
// The link that the group behind `group` continues.
Link LinkAfter(const Group& group);

// "FILE, offset N"
std::string Where(const Segment& segment, uint64_t place);

// A group as it is on disk: header, records, zeros up to the block. The buffer
// is kept between groups.
class GroupWriter {
 public:
  // A buffer with room for the header, to which records are appended.
  std::string& Begin();
  // Completes the bytes of Begin, and sets all fields of the header except its
  // place, its incarnation and the number of records, which the caller sets.
  const std::string& Finish(const StoreId& store, const Link& link,
                            GroupHeader& header);

 private:
  std::string bytes_;
};

}  // namespace actord::runtime
