#include "runtime/store_tools/plugin_files.h"

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/store_tools/sha256.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

constexpr std::string_view kSuffix = ".so";
constexpr std::string_view kUnfinished = ".new";
constexpr std::string_view kUnfinishedEnd = ".so.new";
constexpr size_t kDigestDigits = 64;
constexpr size_t kChunkBytes = size_t{256} << 10;

bool IsDigest(std::string_view text) {
  return text.size() == kDigestDigits &&
         std::all_of(text.begin(), text.end(), [](char digit) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(digit)) &&
                  !absl::ascii_isupper(static_cast<unsigned char>(digit));
         });
}

// Reads the whole file, hands its pieces to `use`, and returns the digest.
absl::StatusOr<std::string> ReadAll(
    PluginFiles::Read read,
    absl::FunctionRef<absl::Status(uint64_t offset, std::string_view piece)>
        use) {
  std::string piece(kChunkBytes, '\0');
  Sha256 hash;
  uint64_t offset = 0;
  for (;;) {
    const absl::StatusOr<size_t> size =
        read(offset, piece.size(), piece.data());
    if (!size.ok()) return size.status();
    if (*size == 0) return hash.TakeHex();
    const std::string_view bytes(piece.data(), *size);
    hash.Add(bytes);
    absl::Status status = use(offset, bytes);
    if (!status.ok()) return status;
    offset += *size;
  }
}

}  // namespace

PluginFiles::PluginFiles(std::string_view store, FileSystem& files,
                         uint64_t reserve_bytes)
    : store_(store),
      folder_(store_ + "/plugins"),
      files_(files),
      reserve_bytes_(reserve_bytes) {}

std::string PluginFiles::PathOf(std::string_view sha256) const {
  return absl::StrCat(folder_, "/", ToAbsl(sha256), ToAbsl(kSuffix));
}

absl::Status PluginFiles::OpenFolder() {
  absl::Status status = files_.MakeDirectory(folder_);
  if (status.ok()) status = files_.SyncDirectory(store_);
  return status;
}

absl::Status PluginFiles::CheckRoom(uint64_t bytes) {
  if (reserve_bytes_ == 0) return absl::OkStatus();
  const absl::StatusOr<DiskSpace> space = files_.Space(folder_);
  if (!space.ok()) return space.status();
  if (space->available >= reserve_bytes_ &&
      space->available - reserve_bytes_ >= bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the file has ", bytes, " bytes, the disk of the store has ",
                   space->available, " bytes free, and store.disk_reserve is ",
                   reserve_bytes_, " bytes"));
}

absl::Status PluginFiles::Keep(const std::string& sha256, uint64_t bytes,
                               Read original) {
  absl::Status present = Check(sha256);
  if (present.ok()) {
    // A crash may have come before the file's name was durable.
    absl::Status status = OpenFolder();
    return status.ok() ? files_.SyncDirectory(folder_) : status;
  }
  if (!absl::IsNotFound(present) && !absl::IsDataLoss(present)) return present;
  absl::Status status = OpenFolder();
  if (status.ok()) status = CheckRoom(bytes);
  if (!status.ok()) return status;
  const std::string path = PathOf(sha256);
  const std::string unfinished = absl::StrCat(path, ToAbsl(kUnfinished));
  status = files_.Unlink(unfinished);
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  status = Write(unfinished, sha256, original);
  if (!status.ok()) {
    files_.Unlink(unfinished).IgnoreError();
    return status;
  }
  status = files_.Rename(unfinished, path);
  return status.ok() ? files_.SyncDirectory(folder_) : status;
}

absl::Status PluginFiles::Write(const std::string& path,
                                const std::string& sha256, Read original) {
  auto file = files_.Open(path, OpenMode::kCreate);
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> digest =
      ReadAll(original, [&](uint64_t offset, std::string_view piece) {
        return (*file)->Write(offset, piece);
      });
  if (!digest.ok()) return digest.status();
  if (*digest != sha256) {
    return absl::DataLossError(absl::StrCat(
        "the file has changed: its SHA-256 is ", *digest, ", not ", sha256));
  }
  return (*file)->SyncData();
}

absl::Status PluginFiles::Check(const std::string& sha256) {
  const std::string path = PathOf(sha256);
  auto file = files_.Open(path, OpenMode::kRead);
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> digest =
      ReadAll([&](uint64_t offset, size_t bytes,
                  char* into) { return (*file)->Read(offset, bytes, into); },
              [](uint64_t, std::string_view) { return absl::OkStatus(); });
  if (!digest.ok()) return digest.status();
  if (*digest == sha256) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " is damaged: its SHA-256 is ", *digest));
}

absl::StatusOr<std::vector<std::string>> PluginFiles::List() {
  return ListWith(kSuffix);
}

absl::StatusOr<std::vector<std::string>> PluginFiles::ListWith(
    std::string_view suffix) {
  absl::StatusOr<std::vector<std::string>> names = files_.List(folder_);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  if (!names.ok()) return names.status();
  std::vector<std::string> digests;
  for (std::string& name : *names) {
    if (!name.ends_with(suffix)) continue;
    name.resize(name.size() - suffix.size());
    if (IsDigest(name)) digests.push_back(std::move(name));
  }
  return digests;
}

absl::Status PluginFiles::Remove(const std::string& sha256) {
  const std::string path = PathOf(sha256);
  absl::Status left = files_.Unlink(absl::StrCat(path, ToAbsl(kUnfinished)));
  if (!left.ok() && !absl::IsNotFound(left)) return left;
  absl::Status status = files_.Unlink(path);
  return status.ok() ? files_.SyncDirectory(folder_) : status;
}

absl::StatusOr<size_t> PluginFiles::RemoveUnfinished() {
  const absl::StatusOr<std::vector<std::string>> left =
      ListWith(kUnfinishedEnd);
  if (!left.ok()) return left.status();
  for (const std::string& sha256 : *left) {
    absl::Status status =
        files_.Unlink(absl::StrCat(PathOf(sha256), ToAbsl(kUnfinished)));
    if (!status.ok()) return status;
  }
  if (left->empty()) return size_t{0};
  absl::Status status = files_.SyncDirectory(folder_);
  if (!status.ok()) return status;
  return left->size();
}

}  // namespace actord::runtime
