#include "runtime/journal/meta.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {

namespace {

constexpr int kCopies = 2;

}  // namespace

std::string MetaFiles::Path(int copy) const {
  return absl::StrCat(directory_, "/META-", copy);
}

absl::StatusOr<Meta> MetaFiles::Read(std::string& damaged) {
  std::optional<Meta> best;
  int existing = 0;
  for (int copy = 0; copy < kCopies; ++copy) {
    absl::StatusOr<std::unique_ptr<File>> file =
        files_.Open(Path(copy), OpenMode::kRead);
    if (absl::IsNotFound(file.status())) {
      damaged = Path(copy);
      first_copy_ = copy;
      continue;
    }
    if (!file.ok()) return file.status();
    ++existing;
    std::string bytes(kBlockBytes, '\0');
    const absl::StatusOr<size_t> read =
        (*file)->Read(0, bytes.size(), bytes.data());
    if (!read.ok()) return read.status();
    bytes.resize(*read);
    Meta meta;
    switch (DecodeMeta(bytes, meta)) {
      case Judgement::kNewer:
        return absl::FailedPreconditionError(absl::StrCat(
            Path(copy),
            ": a newer version of actord has written this store; start that "
            "version"));
      case Judgement::kOlder:
        return absl::FailedPreconditionError(absl::StrCat(
            Path(copy),
            ": a build of actord before its first release has written this "
            "store, in a format that no other build reads; start that build"));
      case Judgement::kBad:
        damaged = Path(copy);
        first_copy_ = copy;
        continue;
      case Judgement::kGood:
        break;
    }
    if (best && best->store != meta.store) {
      return absl::DataLossError(
          absl::StrCat(directory_,
                       ": META-0 and META-1 are of two stores; "
                       "restore the directory from one backup"));
    }
    if (!best || meta.sequence > best->sequence) best = meta;
  }
  if (best) return *best;
  if (existing == 0) {
    return absl::NotFoundError(absl::StrCat(directory_, " has no META-0"));
  }
  return absl::DataLossError(
      absl::StrCat(Path(0),
                   " and META-1 are damaged, or no files of actord; "
                   "restore the directory from a backup"));
}

absl::Status MetaFiles::RemoveUnfinished() {
  for (int copy = 0; copy < kCopies; ++copy) {
    absl::Status status =
        files_.Unlink(absl::StrCat(Path(copy), ToAbsl(kUnfinishedSuffix)));
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  return absl::OkStatus();
}

absl::Status MetaFiles::Create(const Meta& meta) {
  for (int copy = 0; copy < kCopies; ++copy) {
    if (auto status = MakeCopy(copy, meta); !status.ok()) return status;
  }
  return files_.SyncDirectory(directory_);
}

absl::Status MetaFiles::MakeCopy(int copy, const Meta& meta) {
  const std::string unfinished =
      absl::StrCat(Path(copy), ToAbsl(kUnfinishedSuffix));
  absl::StatusOr<std::unique_ptr<File>> file =
      files_.Open(unfinished, OpenMode::kCreate);
  if (!file.ok()) return file.status();
  if (auto status = (*file)->Write(0, EncodeMeta(meta)); !status.ok()) {
    return status;
  }
  if (auto status = (*file)->SyncData(); !status.ok()) return status;
  return files_.Rename(unfinished, Path(copy));
}

absl::Status MetaFiles::WriteCopy(int copy, const Meta& meta) {
  absl::StatusOr<std::unique_ptr<File>> file =
      files_.Open(Path(copy), OpenMode::kReadWrite);
  if (absl::IsNotFound(file.status())) {
    if (auto status = MakeCopy(copy, meta); !status.ok()) return status;
    return files_.SyncDirectory(directory_);
  }
  if (!file.ok()) return file.status();
  if (auto status = (*file)->Write(0, EncodeMeta(meta)); !status.ok()) {
    return status;
  }
  return (*file)->SyncData();
}

absl::Status MetaFiles::Write(Meta& meta) {
  ++meta.sequence;
  if (auto status = WriteCopy(first_copy_, meta); !status.ok()) return status;
  return WriteCopy(1 - first_copy_, meta);
}

}  // namespace actord::runtime
