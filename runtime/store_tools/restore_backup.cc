#include "runtime/store_tools/restore_backup.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/journal/format.h"
#include "runtime/store_tools/sha256.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;
constexpr size_t kMostManifestBytes = 64 << 20;

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, ": the file of the backup ",
                                          what, "; use another backup"));
}

absl::StatusOr<std::string> ReadAll(File& file, uint64_t most) {
  const absl::StatusOr<uint64_t> size = file.Size();
  if (!size.ok()) return size.status();
  std::string text(std::min(*size, most), '\0');
  const absl::StatusOr<size_t> read = file.Read(0, text.size(), text.data());
  if (!read.ok()) return read.status();
  text.resize(*read);
  return text;
}

// Reads one file of the backup, checks it, and writes it to `to` unless that is
// null.
class OneFile {
 public:
  OneFile(const BackupManifest::File& entry, std::string path, File& from,
          File* to)
      : entry_(entry), path_(std::move(path)), from_(from), to_(to) {}

  absl::Status Take() {
    const absl::StatusOr<uint64_t> size = from_.Size();
    if (!size.ok()) return size.status();
    if (*size != entry_.size) {
      return Damaged(path_, absl::StrCat("has ", *size, " bytes instead of ",
                                         entry_.size));
    }
    absl::Status status = TakePieces();
    if (!status.ok()) return status;
    if (hash_.TakeHex() != entry_.sha256) {
      return Damaged(path_, "is damaged: its SHA-256 differs");
    }
    return to_ == nullptr ? absl::OkStatus() : to_->SyncData();
  }

 private:
  absl::Status TakePieces() {
    std::string piece;
    for (uint64_t offset = 0; offset < entry_.size; offset += piece.size()) {
      // A piece lies entirely before or entirely after the end of the hashed
      // bytes.
      const bool is_hashed = offset < entry_.bytes;
      const uint64_t end = is_hashed ? entry_.bytes : entry_.size;
      piece.resize(std::min(kPieceBytes, end - offset));
      const absl::StatusOr<size_t> read =
          from_.Read(offset, piece.size(), piece.data());
      if (!read.ok()) return read.status();
      if (*read != piece.size()) return Damaged(path_, "ends too early");
      if (is_hashed) {
        hash_.Add(piece);
      } else if (piece.find_first_not_of('\0') != std::string::npos) {
        return Damaged(path_, "is damaged: there are bytes behind its end");
      }
      if (to_ == nullptr) continue;
      if (auto status = to_->Write(offset, piece); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const BackupManifest::File& entry_;
  const std::string path_;
  File& from_;
  File* const to_;
  Sha256 hash_;
};

absl::StatusOr<BackupManifest> ReadManifest(const std::string& backup,
                                            FileSystem& files) {
  auto file = files.Open(absl::StrCat(backup, "/", ToAbsl(kManifestName)),
                         OpenMode::kRead);
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(absl::StrCat(
        backup,
        " is not a complete backup, or does not exist: there is no file ",
        ToAbsl(kManifestName),
        " in it, which is written last. Use another backup"));
  }
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> text = ReadAll(**file, kMostManifestBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<BackupManifest> manifest = DecodeManifest(*text);
  if (manifest.ok()) return manifest;
  return absl::Status(manifest.status().code(),
                      absl::StrCat(backup, ": ", manifest.status().message()));
}

// Reads all files. `to`: the directory of the copies; empty: the files are only
// checked.
absl::Status TakeFiles(const BackupManifest& manifest,
                       const std::string& backup, const std::string& to,
                       FileSystem& files) {
  for (const BackupManifest::File& entry : manifest.files) {
    const std::string path = absl::StrCat(backup, "/", entry.name);
    auto from = files.Open(path, OpenMode::kRead);
    if (absl::IsNotFound(from.status())) return Damaged(path, "is missing");
    if (!from.ok()) return from.status();
    std::unique_ptr<File> made;
    if (!to.empty()) {
      auto opened =
          files.Open(absl::StrCat(to, "/", entry.name), OpenMode::kCreate);
      if (!opened.ok()) return opened.status();
      made = *std::move(opened);
    }
    absl::Status status = OneFile(entry, path, **from, made.get()).Take();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// See kRestoreIncarnations.
absl::Status RaiseIncarnation(const std::string& directory, FileSystem& files) {
  for (const char* const name : {"/META-0", "/META-1"}) {
    const std::string path = directory + name;
    auto file = files.Open(path, OpenMode::kReadWrite);
    if (!file.ok()) return file.status();
    const absl::StatusOr<std::string> bytes = ReadAll(**file, kBlockBytes);
    if (!bytes.ok()) return bytes.status();
    Meta meta;
    if (DecodeMeta(*bytes, meta) != Judgement::kGood) {
      return Damaged(path, "is no META that this version reads");
    }
    // A PID has 32 bits for the incarnation.
    if (meta.incarnation >
        std::numeric_limits<uint32_t>::max() - 2 * kRestoreIncarnations) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": the incarnation ", meta.incarnation,
                       " is too high: the store was restored too often"));
    }
    meta.incarnation += kRestoreIncarnations;
    absl::Status status = (*file)->Write(0, EncodeMeta(meta));
    if (status.ok()) status = (*file)->SyncData();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status MakeIn(const std::string& making, const std::string& backup,
                    const BackupManifest& manifest, FileSystem& files) {
  absl::Status status = files.MakeDirectory(making);
  for (const char* const folder : {"/journal", "/state", "/plugins"}) {
    if (status.ok()) status = files.MakeDirectory(making + folder);
  }
  if (status.ok()) status = TakeFiles(manifest, backup, making, files);
  if (status.ok()) status = RaiseIncarnation(making, files);
  for (const char* const folder : {"/journal", "/state", "/plugins", ""}) {
    if (status.ok()) status = files.SyncDirectory(making + folder);
  }
  return status;
}

}  // namespace

absl::StatusOr<BackupManifest> CheckBackup(const std::string& backup,
                                           FileSystem& files) {
  absl::StatusOr<BackupManifest> manifest = ReadManifest(backup, files);
  if (!manifest.ok()) return manifest;
  absl::Status status = TakeFiles(*manifest, backup, "", files);
  if (!status.ok()) return status;
  return manifest;
}

absl::StatusOr<BackupManifest> RestoreBackup(const std::string& backup,
                                             const std::string& store,
                                             FileSystem& files) {
  std::error_code error;
  if (std::filesystem::exists(store, error) || error) {
    return absl::AlreadyExistsError(absl::StrCat(
        store, error ? absl::StrCat(" cannot be looked at: ", error.message())
                     : " exists. A backup is restored into a new store: name "
                       "another directory, or move this one away"));
  }
  absl::StatusOr<BackupManifest> manifest = ReadManifest(backup, files);
  if (!manifest.ok()) return manifest;
  const std::string making = absl::StrCat(store, ".restoring");
  // Left over from an interrupted restore.
  std::filesystem::remove_all(making, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot remove ", making, ": ", error.message()));
  }
  absl::Status status = MakeIn(making, backup, *manifest, files);
  if (status.ok()) status = files.Rename(making, store);
  const size_t slash = store.rfind('/');
  if (status.ok()) {
    status = files.SyncDirectory(slash == std::string::npos ? "."
                                 : slash == 0               ? "/"
                                              : store.substr(0, slash));
  }
  if (!status.ok()) {
    std::filesystem::remove_all(making, error);
    return status;
  }
  return manifest;
}

}  // namespace actord::runtime
