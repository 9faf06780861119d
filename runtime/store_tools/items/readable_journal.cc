#include "runtime/store_tools/items/readable_journal.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/journal/meta.h"

namespace actord::runtime {

absl::StatusOr<ReadableJournal> ReadableJournal::Open(
    const std::string& directory, FileSystem& files) {
  ReadableJournal journal;
  std::string damaged;
  absl::StatusOr<Meta> meta = MetaFiles(files, directory).Read(damaged);
  if (!meta.ok()) return meta.status();
  journal.meta_ = *meta;
  journal.incarnation_ = meta->incarnation;
  journal.OpenSegments(directory, files);
  absl::Status status =
      journal.Walk([](const RecordView&) { return absl::OkStatus(); });
  if (!status.ok()) return status;
  return journal;
}

void ReadableJournal::OpenSegments(const std::string& directory,
                                   FileSystem& files) {
  const std::string folder = directory + "/journal";
  const auto names = files.List(folder);
  if (!names.ok() || !meta_.in_use) return;
  std::vector<uint64_t> places;
  for (const std::string& name : *names) {
    const std::optional<uint64_t> place = PlaceOfName(name);
    if (place && *place >= meta_.first_place) places.push_back(*place);
  }
  std::sort(places.begin(), places.end());
  bool goes_on = true;
  for (const uint64_t place : places) {
    Segment segment;
    segment.path = absl::StrCat(folder, "/", SegmentName(place));
    segment.place = place;
    auto file = files.Open(segment.path, OpenMode::kRead);
    if (!file.ok()) {
      goes_on = false;
      continue;
    }
    segment.file = *std::move(file);
    segment.bytes = segment.file->Size().value_or(0);
    bytes_ += segment.bytes;
    std::string bytes(kSegmentHeaderBytes, '\0');
    const auto read = segment.file->Read(0, bytes.size(), bytes.data());
    SegmentHeader header;
    const uint64_t expected =
        segments_.empty() ? meta_.first_place : segments_.back().end();
    goes_on = goes_on && place == expected && read.ok() &&
              *read == bytes.size() &&
              DecodeSegmentHeader(bytes, header) == Judgement::kGood &&
              header.store == meta_.store && header.place == place &&
              header.bytes == segment.bytes;
    // Later files still show how far the journal may have gone.
    if (goes_on) segments_.push_back(std::move(segment));
  }
}

absl::Status ReadableJournal::ForEach(Use use) {
  const uint64_t end = end_lsn_;
  absl::Status status = Walk(use);
  end_lsn_ = end;
  return status;
}

WalkedSource ReadableJournal::Source() {
  return {meta_.store, [this](WalkedSource::Use use) {
            const uint64_t end = end_lsn_;
            absl::Status status = WalkGroups(use);
            end_lsn_ = end;
            return status;
          }};
}

absl::Status ReadableJournal::Walk(Use use) {
  return WalkGroups([&](const Segment& /*segment*/, const Group& group) {
    std::string_view rest = group.records;
    uint64_t lsn = group.header.lsn;
    while (!rest.empty()) {
      const size_t left = rest.size();
      const std::optional<RecordView> record = TakeRecord(rest, lsn);
      if (!record) return absl::OutOfRangeError("no record");
      lsn += left - rest.size();
      if (absl::Status status = use(*record); !status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::Status ReadableJournal::WalkGroups(WalkedSource::Use use) {
  Link link = meta_.first_link;
  end_lsn_ = link.lsn;
  Group group;
  for (const Segment& segment : segments_) {
    uint64_t place = segment.first_group_place();
    while (place < segment.end()) {
      const auto judgement = ReadGroup(segment, meta_.store, place, group);
      if (!judgement.ok() || *judgement != Judgement::kGood ||
          !Continues(group, meta_.store, link)) {
        break;
      }
      absl::Status status = use(segment, group);
      if (absl::IsOutOfRange(status)) return absl::OkStatus();
      if (!status.ok()) return status;
      link = LinkAfter(group);
      end_lsn_ = link.lsn;
      incarnation_ = std::max(incarnation_, group.header.incarnation);
      place = group.end_place();
    }
  }
  return absl::OkStatus();
}

}  // namespace actord::runtime
