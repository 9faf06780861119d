#include "runtime/journal/format.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "runtime/journal/crc32c.h"
#include "runtime/system/sip_hash.h"

namespace actord::runtime {

namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they lie in memory");

constexpr uint64_t kMetaMagic = 0x3154454d004a4441;     // "ADJ\0MET1"
constexpr uint64_t kSegmentMagic = 0x31474553004a4441;  // "ADJ\0SEG1"
constexpr uint32_t kGroupMagic = 0x474a4441;            // "ADJG"

// Bytes before the checksum.
constexpr size_t kMetaCrcAt = 96;
constexpr size_t kSegmentCrcAt = 48;
constexpr size_t kGroupCrcAt = 80;
constexpr size_t kGroupChainAt = 72;

template <typename T>
void Put(char* bytes, size_t at, T value) {
  static_assert(std::is_unsigned_v<T>);
  std::memcpy(bytes + at, &value, sizeof value);
}

template <typename T>
T Get(std::string_view bytes, size_t at) {
  static_assert(std::is_unsigned_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void PutCrc(char* bytes, size_t at) {
  Put<uint32_t>(bytes, at, Crc32c({bytes, at}));
}

bool HasCrc(std::string_view bytes, size_t at) {
  return bytes.size() >= at + sizeof(uint32_t) &&
         Get<uint32_t>(bytes, at) == Crc32c(bytes.substr(0, at));
}

void PutStore(char* bytes, size_t at, const StoreId& store) {
  Put(bytes, at, store.high);
  Put(bytes, at + 8, store.low);
}

StoreId GetStore(std::string_view bytes, size_t at) {
  return {Get<uint64_t>(bytes, at), Get<uint64_t>(bytes, at + 8)};
}

// The fields of a group's header before its chain.
void PutGroup(const StoreId& store, const GroupHeader& header, char* out) {
  Put<uint32_t>(out, 0, kGroupMagic);
  Put<uint16_t>(out, 4, kJournalFormat);
  Put<uint16_t>(out, 6, 0);
  Put(out, 8, store.high);
  Put(out, 16, header.place);
  Put(out, 24, header.previous);
  Put(out, 32, header.synced_to);
  Put(out, 40, header.lsn);
  Put(out, 48, header.incarnation);
  Put(out, 56, header.bytes);
  Put(out, 60, header.records);
  Put(out, 64, header.records_crc);
  Put<uint32_t>(out, 68, 0);
}

}  // namespace

std::string EncodeMeta(const Meta& meta) {
  std::string bytes(kBlockBytes, '\0');
  char* const out = bytes.data();
  Put(out, 0, kMetaMagic);
  Put<uint16_t>(out, 8, kJournalFormat);
  // The oldest format whose readers can read this store.
  Put<uint16_t>(out, 10, kJournalFormat);
  Put<uint32_t>(out, 12, meta.in_use ? 1 : 0);
  PutStore(out, 16, meta.store);
  Put(out, 32, meta.sequence);
  Put(out, 40, meta.incarnation);
  Put(out, 48, meta.first_place);
  Put(out, 56, meta.first_link.previous);
  Put(out, 64, meta.first_link.chain);
  Put(out, 72, meta.first_link.lsn);
  Put(out, 80, meta.first_link.end);
  PutCrc(out, kMetaCrcAt);
  return bytes;
}

Judgement DecodeMeta(std::string_view bytes, Meta& meta) {
  if (!HasCrc(bytes, kMetaCrcAt) || Get<uint64_t>(bytes, 0) != kMetaMagic) {
    return Judgement::kBad;
  }
  if (Get<uint16_t>(bytes, 10) > kJournalFormat) return Judgement::kNewer;
  if (Get<uint16_t>(bytes, 8) < kJournalFormat) return Judgement::kOlder;
  meta.in_use = Get<uint32_t>(bytes, 12) != 0;
  meta.store = GetStore(bytes, 16);
  meta.sequence = Get<uint64_t>(bytes, 32);
  meta.incarnation = Get<uint64_t>(bytes, 40);
  meta.first_place = Get<uint64_t>(bytes, 48);
  meta.first_link.previous = Get<uint64_t>(bytes, 56);
  meta.first_link.chain = Get<uint64_t>(bytes, 64);
  meta.first_link.lsn = Get<uint64_t>(bytes, 72);
  meta.first_link.end = Get<uint64_t>(bytes, 80);
  return Judgement::kGood;
}

std::string EncodeSegmentHeader(const SegmentHeader& header) {
  std::string bytes(kSegmentHeaderBytes, '\0');
  char* const out = bytes.data();
  Put(out, 0, kSegmentMagic);
  Put<uint16_t>(out, 8, kJournalFormat);
  PutStore(out, 16, header.store);
  Put(out, 32, header.place);
  Put(out, 40, header.bytes);
  PutCrc(out, kSegmentCrcAt);
  return bytes;
}

Judgement DecodeSegmentHeader(std::string_view bytes, SegmentHeader& header) {
  if (!HasCrc(bytes, kSegmentCrcAt) ||
      Get<uint64_t>(bytes, 0) != kSegmentMagic) {
    return Judgement::kBad;
  }
  if (Get<uint16_t>(bytes, 8) > kJournalFormat) return Judgement::kNewer;
  header.store = GetStore(bytes, 16);
  header.place = Get<uint64_t>(bytes, 32);
  header.bytes = Get<uint64_t>(bytes, 40);
  return Judgement::kGood;
}

std::string SegmentName(uint64_t place) {
  return absl::StrFormat("%016x.seg", place);
}

std::optional<uint64_t> PlaceOfName(std::string_view name) {
  constexpr size_t kDigits = 16;
  if (name.size() != kDigits + kSegmentSuffix.size() ||
      !name.ends_with(kSegmentSuffix)) {
    return std::nullopt;
  }
  uint64_t place = 0;
  const char* const end = name.data() + kDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, place, 16);
  if (error != std::errc() || stop != end || SegmentName(place) != name) {
    return std::nullopt;
  }
  return place;
}

uint64_t ChainOf(const StoreId& store, uint64_t chain_before,
                 const GroupHeader& header) {
  std::array<uint64_t, 1 + kGroupChainAt / 8> words;
  words[0] = chain_before;
  std::array<char, kGroupHeaderBytes> bytes;
  PutGroup(store, header, bytes.data());
  std::memcpy(words.data() + 1, bytes.data(), kGroupChainAt);
  return SipHash({store.high, store.low}, words);
}

void EncodeGroupHeader(const StoreId& store, const GroupHeader& header,
                       char* out) {
  PutGroup(store, header, out);
  Put(out, kGroupChainAt, header.chain);
  PutCrc(out, kGroupCrcAt);
  Put<uint32_t>(out, kGroupCrcAt + 4, 0);
}

Judgement DecodeGroupHeader(const StoreId& store, std::string_view bytes,
                            GroupHeader& header) {
  if (!HasCrc(bytes, kGroupCrcAt) || Get<uint32_t>(bytes, 0) != kGroupMagic ||
      Get<uint64_t>(bytes, 8) != store.high) {
    return Judgement::kBad;
  }
  // An unknown flag changes the meaning of the group.
  if (Get<uint16_t>(bytes, 4) > kJournalFormat ||
      Get<uint16_t>(bytes, 6) != 0) {
    return Judgement::kNewer;
  }
  header.place = Get<uint64_t>(bytes, 16);
  header.previous = Get<uint64_t>(bytes, 24);
  header.synced_to = Get<uint64_t>(bytes, 32);
  header.lsn = Get<uint64_t>(bytes, 40);
  header.incarnation = Get<uint64_t>(bytes, 48);
  header.bytes = Get<uint32_t>(bytes, 56);
  header.records = Get<uint32_t>(bytes, 60);
  header.records_crc = Get<uint32_t>(bytes, 64);
  header.chain = Get<uint64_t>(bytes, kGroupChainAt);
  return Judgement::kGood;
}

std::optional<RecordView> TakeRecord(std::string_view& bytes, uint64_t lsn) {
  if (bytes.size() < kRecordHeaderBytes) return std::nullopt;
  const auto word = Get<uint64_t>(bytes, 0);
  const uint64_t length = word & UINT32_MAX;
  if (length < kRecordHeaderBytes || AlignUp(length, 8) > bytes.size()) {
    return std::nullopt;
  }
  const RecordView record = {
      lsn, static_cast<uint16_t>(word >> 32), static_cast<uint16_t>(word >> 48),
      bytes.substr(kRecordHeaderBytes, length - kRecordHeaderBytes)};
  bytes.remove_prefix(AlignUp(length, 8));
  return record;
}

std::string EncodeOpened(const Opened& opened) {
  std::string bytes(16, '\0');
  Put(bytes.data(), 0, opened.incarnation);
  Put(bytes.data(), 8, opened.unix_ns);
  return bytes;
}

std::optional<Opened> DecodeOpened(std::string_view payload) {
  // A later format may append fields.
  if (payload.size() < 16) return std::nullopt;
  return Opened{Get<uint64_t>(payload, 0), Get<uint64_t>(payload, 8)};
}

}  // namespace actord::runtime
