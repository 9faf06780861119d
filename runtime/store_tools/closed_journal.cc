#include "runtime/store_tools/closed_journal.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/journal/meta.h"
#include "runtime/journal/options.h"
#include "runtime/records/record_codec.h"

namespace actord::runtime {

absl::StatusOr<std::unique_ptr<ClosedJournal>> ClosedJournal::Open(
    const std::string& directory, FileSystem& files) {
  JournalOptions options;
  options.directory = directory;
  options.files = &files;
  options.knows = records::Knows;
  MetaFiles meta_files(files, directory);
  // ReadJournal would make a store where there is none.
  std::string damaged;
  const absl::StatusOr<Meta> meta = meta_files.Read(damaged);
  if (absl::IsNotFound(meta.status())) {
    const absl::StatusOr<std::vector<std::string>> names =
        files.List(absl::StrCat(directory, "/journal"));
    // An interrupted backup has the folder, and nothing in it.
    if (absl::IsNotFound(names.status()) || (names.ok() && names->empty())) {
      return absl::NotFoundError(absl::StrCat(
          directory, " is not a store of actord: it has no META-0"));
    }
  } else if (!meta.ok()) {
    return meta.status();
  }
  absl::StatusOr<Recovered> recovered = ReadJournal(options, meta_files);
  if (!recovered.ok()) return recovered.status();
  std::unique_ptr<ClosedJournal> journal(new ClosedJournal);
  journal->recovered_ = *std::move(recovered);
  return journal;
}

uint64_t ClosedJournal::bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : recovered_.segments) bytes += segment->bytes;
  return bytes;
}

absl::Status ClosedJournal::ForEach(uint64_t from, Use use) const {
  return ForEachGroup(from, [&](const Segment& segment, const Group& group) {
    const std::string where = Where(segment, group.header.place);
    std::string_view rest = group.records;
    uint64_t lsn = group.header.lsn;
    while (!rest.empty()) {
      const size_t left = rest.size();
      const std::optional<RecordView> record = TakeRecord(rest, lsn);
      if (!record) {
        return absl::DataLossError(
            absl::StrCat(where, ": there is no record at position ", lsn));
      }
      lsn += left - rest.size();
      if (record->lsn < from) continue;
      if (auto status = use(*record, where); !status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

WalkedSource ClosedJournal::Source() const {
  return {recovered_.meta.store,
          [this](WalkedSource::Use use) { return ForEachGroup(0, use); }};
}

absl::Status ClosedJournal::ForEachGroup(uint64_t from,
                                         WalkedSource::Use use) const {
  if (!recovered_.last) return absl::OkStatus();
  size_t first = recovered_.current;
  while (first > 0 && recovered_.segments[first]->first_link.lsn > from) {
    --first;
  }
  Link link = recovered_.segments[first]->first_link;
  for (size_t i = first; i <= recovered_.current; ++i) {
    const Segment& segment = *recovered_.segments[i];
    if (auto status = ForEachGroupIn(segment, link, use); !status.ok()) {
      return status;
    }
  }
  if (link.lsn == end_lsn()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the journal ends at position ", link.lsn, ", and a moment ago at ",
      end_lsn(), ": the disk has changed, or gives other bytes each time"));
}

absl::Status ClosedJournal::ForEachGroupIn(const Segment& segment, Link& link,
                                           WalkedSource::Use use) const {
  const StoreId& store = recovered_.meta.store;
  uint64_t place = segment.first_group_place();
  Group group;
  while (link.lsn < end_lsn()) {
    const absl::StatusOr<Judgement> judgement =
        ReadGroup(segment, store, place, group);
    if (!judgement.ok()) return judgement.status();
    if (*judgement != Judgement::kGood || !Continues(group, store, link)) break;
    link = LinkAfter(group);
    place = group.end_place();
    if (auto status = use(segment, group); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace actord::runtime
