#include "runtime/journal/group_walk.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/journal/format.h"
#include "runtime/journal/segment.h"

namespace actord::runtime {

namespace {

// The search for later groups reads this much of a file at a time.
constexpr size_t kSearchBytes = 1 << 20;

class GroupWalk {
 public:
  GroupWalk(const JournalOptions& options, Recovered& recovered)
      : options_(options),
        recovered_(recovered),
        store_(recovered.meta.store),
        place_(At(0).first_group_place()) {}

  absl::Status Run();

 private:
  [[nodiscard]] Segment& At(size_t index) const {
    return *recovered_.segments[index];
  }
  [[nodiscard]] bool IsLastFile() const {
    return recovered_.current + 1 == recovered_.segments.size();
  }
  // Reads the next group. True: it was taken. False: there is none.
  absl::StatusOr<bool> Step();
  absl::Status Take(Group group);
  absl::Status CheckRecords(const Segment& segment, const Group& group) const;
  // Decides when there is no group at place_.
  absl::Status Decide();
  // The first place behind place_ with the header of a group that was written
  // when place_ was already durable.
  absl::StatusOr<std::optional<uint64_t>> LaterGroup(size_t index) const;
  absl::Status Unreadable(const absl::Status& status, const Segment& segment,
                          uint64_t place) const;
  [[nodiscard]] absl::Status Newer(const Segment& segment,
                                   uint64_t place) const;
  [[nodiscard]] absl::Status Breaks(const Segment& segment,
                                    const Group& group) const;
  // True: the header of a group is at `place`, and its records are torn.
  [[nodiscard]] bool IsTorn(const Segment& segment, uint64_t place) const;

  const JournalOptions& options_;
  Recovered& recovered_;
  const StoreId store_;
  // Expected place of the next group.
  uint64_t place_;
};

absl::Status GroupWalk::Unreadable(const absl::Status& status,
                                   const Segment& segment,
                                   uint64_t place) const {
  return {
      status.code(),
      absl::StrCat(Where(segment, place),
                   ": the disk cannot be read: ", status.message(),
                   "; the end of the journal is unknown. Copy the directory "
                   "to another disk")};
}

absl::Status GroupWalk::Newer(const Segment& segment, uint64_t place) const {
  return absl::FailedPreconditionError(
      absl::StrCat(Where(segment, place),
                   ": a newer version of actord has written this group; start "
                   "that version"));
}

absl::Status GroupWalk::Breaks(const Segment& segment,
                               const Group& group) const {
  return absl::DataLossError(absl::StrCat(
      Where(segment, group.header.place), ": this group has the position ",
      group.header.lsn,
      " and does not continue the group before, which ends at "
      "position ",
      recovered_.link.lsn,
      ": a write has gone to a wrong place, or files of different times are "
      "mixed",
      kAdviceOnDamage));
}

bool GroupWalk::IsTorn(const Segment& segment, uint64_t place) const {
  Group group;
  const absl::StatusOr<Judgement> judgement =
      ReadGroup(segment, store_, place, group);
  return judgement.ok() && *judgement == Judgement::kBad &&
         group.header.place == place;
}

absl::Status GroupWalk::CheckRecords(const Segment& segment,
                                     const Group& group) const {
  std::string_view bytes = group.records;
  uint64_t lsn = group.header.lsn;
  uint32_t records = 0;
  while (!bytes.empty()) {
    const size_t left = bytes.size();
    const std::optional<RecordView> record = TakeRecord(bytes, lsn);
    if (!record) break;
    lsn += left - bytes.size();
    ++records;
    const bool is_known = record->kind == kOpenedKind ||
                          (options_.knows && options_.knows(record->kind));
    if (!is_known && (record->flags & kSkippable) == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          Where(segment, group.header.place), ": the record at position ",
          record->lsn, " is of kind ", record->kind,
          ", which this version of actord does not know; start a newer "
          "version"));
    }
  }
  if (!bytes.empty() || records != group.header.records) {
    return absl::DataLossError(
        absl::StrCat(Where(segment, group.header.place), ": the group has ",
                     records, " readable records instead of ",
                     group.header.records, kAdviceOnDamage));
  }
  return absl::OkStatus();
}

absl::Status GroupWalk::Take(Group group) {
  const Segment& segment = At(recovered_.current);
  if (auto status = CheckRecords(segment, group); !status.ok()) return status;
  recovered_.chain_before_last = recovered_.link.chain;
  recovered_.link = LinkAfter(group);
  place_ = group.end_place();
  recovered_.report.incarnation =
      std::max(recovered_.report.incarnation, group.header.incarnation);
  ++recovered_.report.groups;
  recovered_.last = std::move(group);
  return absl::OkStatus();
}

absl::StatusOr<bool> GroupWalk::Step() {
  Group group;
  const Segment& here = At(recovered_.current);
  absl::StatusOr<Judgement> judgement = ReadGroup(here, store_, place_, group);
  if (!judgement.ok()) return Unreadable(judgement.status(), here, place_);
  if (*judgement == Judgement::kNewer) return Newer(here, place_);
  if (*judgement == Judgement::kGood) {
    if (!Continues(group, store_, recovered_.link)) return Breaks(here, group);
    if (auto status = Take(std::move(group)); !status.ok()) return status;
    return true;
  }
  // The next group may not have fitted into this segment.
  if (IsLastFile()) return false;
  Segment& next = At(recovered_.current + 1);
  const uint64_t first = next.first_group_place();
  judgement = ReadGroup(next, store_, first, group);
  if (!judgement.ok()) return Unreadable(judgement.status(), next, first);
  if (*judgement == Judgement::kNewer) return Newer(next, first);
  if (*judgement == Judgement::kBad) return false;
  if (!Continues(group, store_, recovered_.link)) {
    if (group.header.synced_to > place_) return false;  // Decide reports it.
    return Breaks(next, group);
  }
  next.first_link = recovered_.link;
  ++recovered_.current;
  if (auto status = Take(std::move(group)); !status.ok()) return status;
  return true;
}

absl::StatusOr<std::optional<uint64_t>> GroupWalk::LaterGroup(
    size_t index) const {
  const Segment& segment = At(index);
  const uint64_t begin = index == recovered_.current
                             ? place_ + kBlockBytes
                             : segment.first_group_place();
  std::string bytes;
  for (uint64_t place = begin; place < segment.end(); place += bytes.size()) {
    bytes.resize(std::min<uint64_t>(kSearchBytes, segment.end() - place));
    const absl::StatusOr<size_t> read =
        segment.file->Read(place - segment.place, bytes.size(), bytes.data());
    if (!read.ok()) return Unreadable(read.status(), segment, place);
    for (size_t at = 0; at + kBlockBytes <= bytes.size(); at += kBlockBytes) {
      GroupHeader header;
      if (DecodeGroupHeader(store_, std::string_view(bytes).substr(at),
                            header) == Judgement::kGood &&
          header.place == place + at && header.synced_to > place_) {
        return place + at;
      }
    }
  }
  return std::nullopt;
}

absl::Status GroupWalk::Decide() {
  for (size_t i = recovered_.current; i < recovered_.segments.size(); ++i) {
    const absl::StatusOr<std::optional<uint64_t>> later = LaterGroup(i);
    if (!later.ok()) return later.status();
    if (!later->has_value()) continue;
    return absl::DataLossError(absl::StrCat(
        Where(At(recovered_.current), place_), ": the group with position ",
        recovered_.link.lsn,
        " is damaged, and a group behind it shows that it was durable (",
        Where(At(i), **later), "). Records were acknowledged and are lost",
        kAdviceOnDamage));
  }
  // (2) of segments.h
  if (recovered_.last && IsLastFile()) {
    const Segment& last = At(recovered_.current);
    return absl::DataLossError(absl::StrCat(
        "the file behind ", last.path, " is missing: ", SegmentName(last.end()),
        kAdviceOnDamage));
  }
  const Segment& here = At(recovered_.current);
  if (IsTorn(here, place_)) {
    recovered_.report.cut = Where(here, place_);
  } else if (!IsLastFile()) {
    const Segment& next = At(recovered_.current + 1);
    if (IsTorn(next, next.first_group_place())) {
      recovered_.report.cut = Where(next, next.first_group_place());
    }
  }
  return absl::OkStatus();
}

absl::Status GroupWalk::Run() {
  recovered_.link = recovered_.meta.first_link;
  recovered_.report.incarnation = recovered_.meta.incarnation;
  recovered_.report.first_lsn = recovered_.link.lsn;
  At(0).first_link = recovered_.link;
  for (;;) {
    const absl::StatusOr<bool> stepped = Step();
    if (!stepped.ok()) return stepped.status();
    if (!*stepped) break;
  }
  if (auto status = Decide(); !status.ok()) return status;
  recovered_.next_place = place_;
  recovered_.report.end_lsn = recovered_.link.lsn;
  return absl::OkStatus();
}

}  // namespace

absl::Status WalkGroups(const JournalOptions& options, Recovered& recovered) {
  return GroupWalk(options, recovered).Run();
}

}  // namespace actord::runtime
