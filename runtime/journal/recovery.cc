#include "runtime/journal/recovery.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/journal/group_walk.h"
#include "runtime/journal/segments.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/random.h"

namespace actord::runtime {

namespace {

absl::StatusOr<std::vector<std::string>> NamesIn(
    const JournalOptions& options) {
  absl::StatusOr<std::vector<std::string>> names =
      options.files->List(Segments::FolderOf(options));
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

StoreId NewStoreId(const JournalOptions& options) {
  if (options.seed == 0) return {Random::SystemSeed(), Random::SystemSeed()};
  Random random(options.seed);
  return {random.Next(), random.Next()};
}

absl::StatusOr<std::shared_ptr<Segment>> OpenSegment(
    const JournalOptions& options, const Meta& meta, uint64_t place) {
  auto segment = std::make_shared<Segment>();
  segment->path =
      absl::StrCat(Segments::FolderOf(options), "/", SegmentName(place));
  segment->place = place;
  absl::StatusOr<std::unique_ptr<File>> file =
      options.files->Open(segment->path, OpenMode::kReadWrite);
  if (!file.ok()) return file.status();
  segment->file = *std::move(file);
  const absl::StatusOr<uint64_t> size = segment->file->Size();
  if (!size.ok()) return size.status();
  std::string bytes(kSegmentHeaderBytes, '\0');
  const absl::StatusOr<size_t> read =
      segment->file->Read(0, bytes.size(), bytes.data());
  if (!read.ok()) return read.status();
  bytes.resize(*read);
  SegmentHeader header;
  const Judgement judgement = DecodeSegmentHeader(bytes, header);
  if (judgement == Judgement::kNewer) {
    return absl::FailedPreconditionError(
        absl::StrCat(segment->path,
                     ": a newer version of actord has written this file; "
                     "start that version"));
  }
  if (judgement == Judgement::kBad) {
    return absl::DataLossError(absl::StrCat(
        segment->path, ", offset 0: the header is damaged", kAdviceOnDamage));
  }
  if (header.store != meta.store) {
    return absl::DataLossError(absl::StrCat(
        segment->path,
        " belongs to another store; remove the files that were copied into "
        "this directory",
        kAdviceOnDamage));
  }
  if (header.place != place || header.bytes != *size) {
    return absl::DataLossError(absl::StrCat(
        segment->path, " is ", *size, " bytes long and says that it is ",
        header.bytes, " bytes long at place ", header.place, kAdviceOnDamage));
  }
  segment->bytes = header.bytes;
  return segment;
}

// Opens the segments that `names` lists, and checks that none is missing
// between them.
absl::Status OpenSegments(const JournalOptions& options,
                          const std::vector<std::string>& names,
                          Recovered& recovered) {
  const std::string folder = Segments::FolderOf(options);
  uint64_t expected = recovered.meta.first_place;
  for (const std::string& name : names) {
    const std::optional<uint64_t> place = PlaceOfName(name);
    const bool is_unfinished =
        name.size() > kUnfinishedSuffix.size() &&
        std::string_view(name).ends_with(kUnfinishedSuffix);
    if (is_unfinished || (place && *place < recovered.meta.first_place)) {
      recovered.leftovers.push_back(absl::StrCat(folder, "/", name));
      continue;
    }
    if (!place) {
      return absl::DataLossError(absl::StrCat(
          folder, "/", name, " is no file of a journal; move it elsewhere"));
    }
    if (*place != expected) break;
    absl::StatusOr<std::shared_ptr<Segment>> segment =
        OpenSegment(options, recovered.meta, *place);
    if (!segment.ok()) return segment.status();
    expected = (*segment)->end();
    recovered.segments.push_back(*std::move(segment));
  }
  const std::optional<uint64_t> newest =
      names.empty() ? std::nullopt : PlaceOfName(names.back());
  if (recovered.segments.empty() || (newest && *newest >= expected)) {
    return absl::DataLossError(absl::StrCat(folder, "/", SegmentName(expected),
                                            " is missing", kAdviceOnDamage));
  }
  return absl::OkStatus();
}

// Begins a store that has no META, or whose creation was interrupted.
absl::Status BeginNew(const JournalOptions& options, MetaFiles& meta_files,
                      bool has_meta, const std::vector<std::string>& names,
                      Recovered& recovered) {
  const std::string folder = Segments::FolderOf(options);
  if (!has_meta) {
    for (const std::string& name : names) {
      if (!PlaceOfName(name)) continue;
      return absl::DataLossError(
          absl::StrCat(options.directory,
                       " has a journal, and META-0 and META-1 are missing",
                       kAdviceOnDamage));
    }
    if (auto status = meta_files.RemoveUnfinished(); !status.ok()) {
      return status;
    }
    recovered.meta = {};
    recovered.meta.store = NewStoreId(options);
    recovered.meta.first_link.lsn = kFirstLsn;
    if (auto status = meta_files.Create(recovered.meta); !status.ok()) {
      return status;
    }
  }
  recovered.report.is_new = true;
  // Not 0 if the store was made from an export.
  recovered.report.incarnation = recovered.meta.incarnation;
  recovered.link = recovered.meta.first_link;
  for (const std::string& name : names) {
    recovered.leftovers.push_back(absl::StrCat(folder, "/", name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Recovered> ReadJournal(const JournalOptions& options,
                                      MetaFiles& meta_files) {
  Recovered recovered;
  absl::StatusOr<std::vector<std::string>> names = NamesIn(options);
  if (!names.ok()) return names.status();
  absl::StatusOr<Meta> meta = meta_files.Read(recovered.report.repaired);
  if (absl::IsNotFound(meta.status())) {
    recovered.report.repaired.clear();
    if (auto status = BeginNew(options, meta_files, false, *names, recovered);
        !status.ok()) {
      return status;
    }
    return recovered;
  }
  if (!meta.ok()) return meta.status();
  recovered.meta = *meta;
  if (!meta->in_use) {
    if (auto status = BeginNew(options, meta_files, true, *names, recovered);
        !status.ok()) {
      return status;
    }
    return recovered;
  }
  if (auto status = OpenSegments(options, *names, recovered); !status.ok()) {
    return status;
  }
  if (auto status = WalkGroups(options, recovered); !status.ok()) {
    return status;
  }
  return recovered;
}

absl::Status SettleJournal(const JournalOptions& options, MetaFiles& meta_files,
                           Recovered& recovered) {
  FileSystem& files = *options.files;
  const std::string folder = Segments::FolderOf(options);
  if (recovered.report.is_new) {
    if (auto status = files.MakeDirectory(folder); !status.ok()) return status;
  }
  if (auto status = meta_files.RemoveUnfinished(); !status.ok()) return status;
  // META may be only in the page cache, if the program was killed between its
  // write and its sync. The next steps rely on it.
  if (auto status = meta_files.Write(recovered.meta); !status.ok()) {
    return status;
  }
  if (auto status = files.SyncDirectory(options.directory); !status.ok()) {
    return status;
  }
  for (const std::string& path : recovered.leftovers) {
    absl::Status status = files.Unlink(path);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  // Names of segments may be only in the page cache, too.
  if (auto status = files.SyncDirectory(folder); !status.ok()) return status;
  if (!recovered.last) return absl::OkStatus();
  // The last group may also be only in the page cache, or marked as clean by a
  // failed sync. No earlier group can be, because each group is written after
  // the sync of the group before.
  Segment& segment = *recovered.segments[recovered.current];
  GroupWriter writer;
  writer.Begin().append(recovered.last->records);
  GroupHeader header = recovered.last->header;
  const Link link = {header.previous, header.synced_to,
                     recovered.chain_before_last, header.lsn};
  const std::string& bytes = writer.Finish(recovered.meta.store, link, header);
  if (auto status = segment.file->Write(header.place - segment.place, bytes);
      !status.ok()) {
    return status;
  }
  return segment.file->SyncData();
}

}  // namespace actord::runtime
