#include "runtime/journal/segment.h"

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/journal/crc32c.h"

namespace actord::runtime {

absl::StatusOr<Judgement> ReadGroup(const Segment& segment,
                                    const StoreId& store, uint64_t place,
                                    Group& group) {
  const uint64_t offset = place - segment.place;
  if (offset + kBlockBytes > segment.bytes) return Judgement::kBad;
  std::array<char, kGroupHeaderBytes> header;
  absl::StatusOr<size_t> read =
      segment.file->Read(offset, header.size(), header.data());
  if (!read.ok()) return read.status();
  if (*read < header.size()) return Judgement::kBad;
  const Judgement judgement =
      DecodeGroupHeader(store, {header.data(), header.size()}, group.header);
  if (judgement != Judgement::kGood) return judgement;
  if (group.header.place != place ||
      offset + GroupBytesOnDisk(group.header.bytes) > segment.bytes) {
    return Judgement::kBad;
  }
  group.records.resize(group.header.bytes);
  read = segment.file->Read(offset + kGroupHeaderBytes, group.header.bytes,
                            group.records.data());
  if (!read.ok()) return read.status();
  if (*read < group.header.bytes ||
      Crc32c(group.records) != group.header.records_crc) {
    return Judgement::kBad;
  }
  return Judgement::kGood;
}

bool Continues(const Group& group, const StoreId& store, const Link& link) {
  return group.header.previous == link.previous &&
         group.header.lsn == link.lsn && group.header.synced_to == link.end &&
         group.header.chain == ChainOf(store, link.chain, group.header);
}

Link LinkAfter(const Group& group) {
  return {group.header.place, group.end_place(), group.header.chain,
          group.end_lsn()};
}

std::string Where(const Segment& segment, uint64_t place) {
  return absl::StrCat(segment.path, ", offset ", place - segment.place);
}

std::string& GroupWriter::Begin() {
  bytes_.assign(kGroupHeaderBytes, '\0');
  return bytes_;
}

const std::string& GroupWriter::Finish(const StoreId& store, const Link& link,
                                       GroupHeader& header) {
  const std::string_view records =
      std::string_view(bytes_).substr(kGroupHeaderBytes);
  header.previous = link.previous;
  header.synced_to = link.end;
  header.lsn = link.lsn;
  header.bytes = static_cast<uint32_t>(records.size());
  header.records_crc = Crc32c(records);
  header.chain = ChainOf(store, link.chain, header);
  EncodeGroupHeader(store, header, bytes_.data());
  bytes_.resize(AlignUp(bytes_.size(), kBlockBytes), '\0');
  return bytes_;
}

}  // namespace actord::runtime
