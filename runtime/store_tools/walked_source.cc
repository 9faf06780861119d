#include "runtime/store_tools/walked_source.h"

#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace actord::runtime {

absl::Status WalkedSource::FindPlaces() {
  absl::Status status = walk_([&](const Segment& segment, const Group& group) {
    places_[group.header.lsn] = {&segment, group.header.place};
    return absl::OkStatus();
  });
  has_places_ = status.ok();
  return status;
}

absl::Status WalkedSource::ReadGroupOf(uint64_t lsn) {
  if (group_.header.lsn <= lsn && lsn < group_.end_lsn()) {
    return absl::OkStatus();
  }
  const auto behind = places_.upper_bound(lsn);
  if (behind == places_.begin()) {
    return absl::DataLossError(
        absl::StrCat("the journal begins behind the record at position ", lsn));
  }
  const Place& place = std::prev(behind)->second;
  const absl::StatusOr<Judgement> judgement =
      ReadGroup(*place.segment, store_, place.place, group_);
  if (!judgement.ok()) return judgement.status();
  if (*judgement == Judgement::kGood) return absl::OkStatus();
  group_ = Group();
  return absl::DataLossError(absl::StrCat(Where(*place.segment, place.place),
                                          ": the group cannot be read again"));
}

absl::StatusOr<SourceRecord> WalkedSource::At(uint64_t lsn) {
  absl::Status status = has_places_ ? absl::OkStatus() : FindPlaces();
  if (status.ok()) status = ReadGroupOf(lsn);
  if (!status.ok()) return status;
  std::string_view rest = group_.records;
  uint64_t next = group_.header.lsn;
  while (!rest.empty() && next <= lsn) {
    const size_t left = rest.size();
    const std::optional<RecordView> record = TakeRecord(rest, next);
    if (!record) break;
    next += left - rest.size();
    if (record->lsn != lsn) continue;
    return SourceRecord{record->kind, record->flags,
                        std::string(record->payload)};
  }
  return absl::DataLossError(
      absl::StrCat("the journal has no record at position ", lsn));
}

}  // namespace actord::runtime
