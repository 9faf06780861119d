#include "runtime/journal/reader.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace actord::runtime {

absl::Status JournalReader::Seek() {
  if (from_ > durable_.load(std::memory_order_acquire)) {
    return absl::OutOfRangeError(absl::StrCat(
        "position ", from_, " lies behind the end of the journal, which is at ",
        durable_.load(std::memory_order_acquire),
        ": files of the journal are missing, or of an older time"));
  }
  segment_ = segments_.Holding(from_);
  if (segment_ == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "the journal does not keep position ", from_, " any more"));
  }
  place_ = segment_->first_group_place();
  link_ = segment_->first_link;
  return absl::OkStatus();
}

absl::StatusOr<bool> JournalReader::NextGroup() {
  // Acquire: all records that are durable at this position can be read from the
  // file.
  if (link_.lsn >= durable_.load(std::memory_order_acquire)) return false;
  absl::StatusOr<Judgement> judgement =
      ReadGroup(*segment_, store_, place_, group_);
  if (!judgement.ok()) return judgement.status();
  if (*judgement != Judgement::kGood) {
    std::shared_ptr<Segment> next = segments_.After(*segment_);
    if (next != nullptr) {
      judgement = ReadGroup(*next, store_, next->first_group_place(), group_);
      if (!judgement.ok()) return judgement.status();
    }
    if (next == nullptr || *judgement != Judgement::kGood) {
      return absl::DataLossError(absl::StrCat(
          Where(*segment_, place_), ": the group with position ", link_.lsn,
          " is damaged, or was trimmed away while it was read"));
    }
    segment_ = std::move(next);
  }
  if (!Continues(group_, store_, link_)) {
    return absl::DataLossError(
        absl::StrCat(Where(*segment_, group_.header.place),
                     ": the group does not continue position ", link_.lsn));
  }
  if (places_ != nullptr) {
    places_->try_emplace(group_.header.lsn,
                         Place{segment_, group_.header.place, link_});
  }
  link_ = LinkAfter(group_);
  place_ = group_.end_place();
  rest_ = group_.records;
  lsn_ = group_.header.lsn;
  return true;
}

absl::StatusOr<bool> JournalReader::Next() {
  if (segment_ == nullptr) {
    if (auto status = Seek(); !status.ok()) return status;
  }
  for (;;) {
    while (rest_.empty()) {
      const absl::StatusOr<bool> read = NextGroup();
      if (!read.ok()) return read.status();
      if (!*read) return false;
    }
    const size_t left = rest_.size();
    const std::optional<RecordView> record = TakeRecord(rest_, lsn_);
    if (!record) {
      return absl::DataLossError(
          absl::StrCat("there is no record at position ", lsn_));
    }
    record_ = *record;
    lsn_ += left - rest_.size();
    if (record_.lsn >= from_) return true;
  }
}

}  // namespace actord::runtime
