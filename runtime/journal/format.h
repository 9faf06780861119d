// The bytes around the records in the journal's files: segments, groups, their
// headers. The records themselves: runtime/records/. docs/journal-format.md
// lists all of them one by one. All numbers are little-endian. Two kinds of
// numbers run through the whole journal:
//
//   place  a byte of the segments, as if all were one file: a segment begins
//          where the segment before it ends. Groups begin at multiples of
//          kBlockBytes.
//   lsn    a byte of the records, in their order, without headers of groups and
//          padding. It is the position of a record. All code outside of the
//          journal's own files uses it.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actord::runtime {

// No two groups share a block of the device, so a torn write of one group does
// not touch another.
inline constexpr uint64_t kBlockBytes = 4096;
// Position of a store's first record. 0 is no position.
inline constexpr uint64_t kFirstLsn = 8;
// The format that this build writes, and the only format that it reads. Builds
// before the first release wrote format 1.
inline constexpr uint16_t kJournalFormat = 2;

inline constexpr size_t kSegmentHeaderBytes = kBlockBytes;
inline constexpr size_t kGroupHeaderBytes = 88;
inline constexpr size_t kRecordHeaderBytes = 8;

constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// 128 random bits, drawn when the store is made. They tell the files of
// different stores apart. They are also the key of the chain of groups, so
// nobody outside can guess that chain.
struct StoreId {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const StoreId&, const StoreId&) = default;
};

// The part of the journal that the next group must continue: everything before
// it.
struct Link {
  // Place of the group before. 0: there is none.
  uint64_t previous = 0;
  // End of that group, as a place.
  uint64_t end = 0;
  // Chain up to that group.
  uint64_t chain = 0;
  // Position of the next record.
  uint64_t lsn = 0;
};

// The possible results of reading a header of any file.
enum class Judgement {
  kGood,
  // Not written, torn or changed: the checksum or the magic number differs.
  kBad,
  // Intact, and written in a format that this build does not read.
  kNewer,
  kOlder,  // of META alone, which is read first
};

// ---- META-0 and META-1 -----------------------------------------------------

struct Meta {
  StoreId store;
  // The copy with the greater number is the valid one.
  uint64_t sequence = 0;
  // False: the store is being made, and no group has been written.
  bool in_use = false;
  // At least the incarnation of every group before first_place.
  uint64_t incarnation = 0;
  // The first segment that is kept, and the link that its first group
  // continues.
  uint64_t first_place = 0;
  Link first_link;
};
// One block.
std::string EncodeMeta(const Meta& meta);
Judgement DecodeMeta(std::string_view bytes, Meta& meta);

// ---- Segments --------------------------------------------------------------

struct SegmentHeader {
  StoreId store;
  uint64_t place = 0;
  // The size of the file.
  uint64_t bytes = 0;
};
// One block.
std::string EncodeSegmentHeader(const SegmentHeader& header);
Judgement DecodeSegmentHeader(std::string_view bytes, SegmentHeader& header);

// "0000000004000000.seg"
std::string SegmentName(uint64_t place);
inline constexpr std::string_view kSegmentSuffix = ".seg";
// A segment that is being made.
inline constexpr std::string_view kUnfinishedSuffix = ".new";
// Empty: not the name of a segment.
std::optional<uint64_t> PlaceOfName(std::string_view name);

// ---- Groups ----------------------------------------------------------------

struct GroupHeader {
  uint64_t place = 0;
  // Place of the group before; 0: there is none.
  uint64_t previous = 0;
  // The end of the group before. Everything before this place was durable when
  // this group was written.
  uint64_t synced_to = 0;
  uint64_t lsn = 0;
  uint64_t incarnation = 0;
  // Size of the records, without padding to the block.
  uint32_t bytes = 0;
  uint32_t records = 0;
  uint32_t records_crc = 0;
  uint64_t chain = 0;
};

constexpr uint64_t GroupBytesOnDisk(uint64_t record_bytes) {
  return AlignUp(kGroupHeaderBytes + record_bytes, kBlockBytes);
}

// The chain up to and with this group, of which all fields but `chain` are set.
uint64_t ChainOf(const StoreId& store, uint64_t chain_before,
                 const GroupHeader& header);
// Writes kGroupHeaderBytes bytes.
void EncodeGroupHeader(const StoreId& store, const GroupHeader& header,
                       char* out);
// kBad also for a group of another store. `bytes` has kGroupHeaderBytes bytes.
Judgement DecodeGroupHeader(const StoreId& store, std::string_view bytes,
                            GroupHeader& header);

// ---- Records ---------------------------------------------------------------

// Flags of a record.
// A reader that does not know the kind may go on without the record. Without
// this flag, a store with a record of an unknown kind is refused.
inline constexpr uint16_t kSkippable = 1;

// The journal's own kind; the users of the journal define the other kinds.
inline constexpr uint16_t kOpenedKind = 1;

// The bytes of the journal that a payload of this size takes.
constexpr uint64_t RecordBytes(uint64_t payload_bytes) {
  return AlignUp(kRecordHeaderBytes + payload_bytes, 8);
}

// The header of a record as a word: bytes u32 | kind u16 | flags u16, where
// `bytes` counts the header and the payload without padding. It is never 0.
constexpr uint64_t RecordWord(uint64_t payload_bytes, uint16_t kind,
                              uint16_t flags) {
  return (kRecordHeaderBytes + payload_bytes) | uint64_t{kind} << 32 |
         uint64_t{flags} << 48;
}

struct RecordView {
  uint64_t lsn = 0;
  uint16_t kind = 0;
  uint16_t flags = 0;
  std::string_view payload;
};
// Takes the record from the front of `bytes`, whose position is `lsn`. Empty:
// the bytes are not a record.
std::optional<RecordView> TakeRecord(std::string_view& bytes, uint64_t lsn);

// The payload of an OPENED record.
struct Opened {
  uint64_t incarnation = 0;
  uint64_t unix_ns = 0;
};
std::string EncodeOpened(const Opened& opened);
std::optional<Opened> DecodeOpened(std::string_view payload);

}  // namespace actord::runtime
