#include "runtime/durable/store_backup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/durable/opened_store.h"
#include "runtime/journal/format.h"
#include "runtime/journal/meta.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {

absl::StatusOr<std::unique_ptr<StoreBackup>> OpenedStore::BeginBackup() {
  return StoreBackup::Begin({.journal = *journal_,
                             .state = *state_,
                             .directory = options_.journal.directory,
                             .files = *options_.journal.files});
}

absl::StatusOr<std::unique_ptr<StoreBackup>> StoreBackup::Begin(
    const Parts& parts) {
  std::unique_ptr<StoreBackup> backup(new StoreBackup(parts));
  absl::Status status = backup->Copy();
  if (!status.ok()) return status;
  return backup;
}

absl::Status StoreBackup::RemoveLeftovers(const std::string& directory) {
  const std::string copy = absl::StrCat(directory, ToAbsl(kFolder));
  absl::Status status = RocksStateStore::RemoveCopy(copy);
  // RocksDB makes the copy at this path first.
  status.Update(RocksStateStore::RemoveCopy(absl::StrCat(copy, ".tmp")));
  return status;
}

StoreBackup::~StoreBackup() {
  // The next backup or the next start removes files that stay here.
  RemoveLeftovers(parts_.directory).IgnoreError();
}

absl::Status StoreBackup::Copy() {
  const std::string folder = absl::StrCat(parts_.directory, ToAbsl(kFolder));
  absl::Status status = RemoveLeftovers(parts_.directory);
  if (!status.ok()) return status;
  std::vector<std::shared_ptr<const Segment>> segments;
  {
    const Journal::TrimHold hold(parts_.journal);
    const uint64_t first = parts_.journal.SegmentsInUse().front()->place;
    status = parts_.state.Copy(folder);
    if (!status.ok()) return status;
    // This position is behind all records in the copy, and behind all
    // acknowledged records. It does not wait, because a commit may need the
    // room that a trim makes.
    position_ = parts_.journal.DurableLsn();
    segments = parts_.journal.SegmentsInUse();
    if (segments.front()->place != first) {
      return absl::InternalError("the journal was trimmed during a backup");
    }
  }
  status = TakeFolder(folder, "state", "");
  if (!status.ok()) return status;
  // The files of plugins that the store keeps; other files there are
  // unfinished.
  status =
      TakeFolder(absl::StrCat(parts_.directory, "/plugins"), "plugins", ".so");
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  return TakeJournal(segments);
}

absl::Status StoreBackup::TakeFolder(const std::string& from,
                                     const std::string& to,
                                     std::string_view suffix) {
  const absl::StatusOr<std::vector<std::string>> names =
      parts_.files.List(from);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!name.ends_with(suffix)) continue;
    const std::string path = absl::StrCat(from, "/", name);
    auto file = parts_.files.Open(path, OpenMode::kRead);
    if (!file.ok()) return file.status();
    const absl::StatusOr<uint64_t> size = (*file)->Size();
    if (!size.ok()) return size.status();
    entries_.push_back(
        {.name = absl::StrCat(to, "/", name), .bytes = *size, .size = *size});
    sources_.push_back({.segment = {}, .path = path, .text = {}});
  }
  return absl::OkStatus();
}

void StoreBackup::TakeText(std::string name, std::string text, uint64_t size) {
  entries_.push_back(
      {.name = std::move(name), .bytes = text.size(), .size = size});
  sources_.push_back({.segment = {}, .path = {}, .text = std::move(text)});
}

absl::Status StoreBackup::TakeJournal(
    const std::vector<std::shared_ptr<const Segment>>& segments) {
  const Segment& first = *segments.front();
  const StoreId store = parts_.journal.id();
  uint64_t spare = 0;
  Link link = first.first_link;
  for (const std::shared_ptr<const Segment>& segment : segments) {
    // Segments that the journal has entered since then.
    if (segment != segments.front() && segment->first_link.lsn >= position_) {
      break;
    }
    const absl::StatusOr<uint64_t> end = EndOfGroups(*segment, link);
    if (!end.ok()) return end.status();
    entries_.push_back(
        {.name = absl::StrCat("journal/", SegmentName(segment->place)),
         .bytes = *end - segment->place,
         .size = segment->bytes});
    sources_.push_back({.segment = segment, .path = {}, .text = {}});
    spare = segment->end();
  }
  if (link.lsn != position_) {
    return absl::DataLossError(absl::StrCat(
        "the journal is damaged: its groups can be read up to position ",
        link.lsn, ", and position ", position_,
        " was durable. End the daemon, and run actorctl store verify"));
  }
  // After each segment with a group there is another segment: segments.h (2).
  TakeText(absl::StrCat("journal/", SegmentName(spare)),
           EncodeSegmentHeader({store, spare, first.bytes}), first.bytes);
  incarnation_ = parts_.journal.report().incarnation;
  const Meta meta{.store = store,
                  .sequence = 1,
                  .in_use = true,
                  .incarnation = incarnation_,
                  .first_place = first.place,
                  .first_link = first.first_link};
  for (const char* const name : {"META-0", "META-1"}) {
    std::string bytes = EncodeMeta(meta);
    const uint64_t size = bytes.size();
    TakeText(name, std::move(bytes), size);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> StoreBackup::EndOfGroups(const Segment& segment,
                                                  Link& link) {
  const StoreId store = parts_.journal.id();
  uint64_t place = segment.first_group_place();
  Group group;
  while (link.lsn < position_) {
    const absl::StatusOr<Judgement> judgement =
        ReadGroup(segment, store, place, group);
    if (!judgement.ok()) return judgement.status();
    // The next group is in the next segment, or damaged.
    if (*judgement != Judgement::kGood || !Continues(group, store, link)) break;
    link = LinkAfter(group);
    place = group.end_place();
  }
  return place;
}

absl::StatusOr<std::string> StoreBackup::Read(size_t index, uint64_t offset,
                                              uint64_t bytes) {
  const Entry& entry = entries_[index];
  const Source& source = sources_[index];
  bytes = std::min(bytes, entry.bytes - std::min(offset, entry.bytes));
  if (!source.text.empty()) return source.text.substr(offset, bytes);
  File* file = source.segment == nullptr ? nullptr : source.segment->file.get();
  if (file == nullptr) {
    if (open_index_ != index) {
      auto opened = parts_.files.Open(source.path, OpenMode::kRead);
      if (!opened.ok()) return opened.status();
      open_file_ = *std::move(opened);
      open_index_ = index;
    }
    file = open_file_.get();
  }
  std::string text(bytes, '\0');
  const absl::StatusOr<size_t> read = file->Read(offset, bytes, text.data());
  if (!read.ok()) return read.status();
  if (*read != bytes) {
    return absl::DataLossError(absl::StrCat(
        entry.name, " has become shorter than ", entry.bytes, " bytes"));
  }
  return text;
}

}  // namespace actord::runtime
