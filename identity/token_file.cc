#include "identity/token_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "identity/token_toml.h"

namespace actord::identity {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kUnknown;
  }
}

}  // namespace

absl::Status FileError(int error, const std::string& path,
                       const std::string& what) {
  return {CodeOf(error),
          absl::StrCat(path, ": ", what, ": ", std::strerror(error))};
}

absl::StatusOr<Descriptor> OpenTokenFile(const std::string& path) {
  Descriptor file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.is_open()) return file;
  absl::Status status = FileError(errno, path, "cannot be opened");
  if (!absl::IsPermissionDenied(status)) return status;
  return absl::PermissionDeniedError(absl::StrCat(
      status.message(), "; the program runs as the user ", geteuid(),
      ", who must be able to read it, for example through its group: chgrp "
      "GROUP ",
      path, " and chmod 0640 ", path));
}

absl::Status CheckTokenFile(const struct stat& status, uid_t reader,
                            const std::string& path, std::string_view kind) {
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a regular file"));
  }
  const mode_t mode = status.st_mode & 07777u;
  if ((mode & ~kTokenFileMode) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: has mode %04o; %s must have mode 0640 or 0600, so that only its "
        "owner can change it and others cannot read it: type chmod %s %s",
        path, mode, std::string(kind), kind == kTokenFile ? "0600" : "0640",
        path));
  }
  if (status.st_uid != 0 && status.st_uid != reader) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": belongs to the user ", status.st_uid, ", and ",
        std::string(kind), " must belong to root or to the user who reads it (",
        reader, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadCheckedText(const Descriptor& file,
                                            const std::string& path,
                                            std::string_view kind) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) {
    return FileError(errno, path, "cannot be examined");
  }
  absl::Status trusted = CheckTokenFile(status, geteuid(), path, kind);
  if (!trusted.ok()) return trusted;
  std::string text;
  std::array<char, 16384> piece;
  // One byte more than the limit: ParseTokens says that the file is too large.
  while (text.size() <= kMaxTokenFileBytes) {
    const ssize_t count = read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, path, "cannot be read");
    if (count == 0) break;
    text.append(piece.data(), static_cast<size_t>(count));
  }
  return text;
}

absl::StatusOr<std::vector<StoredToken>> ReadTokenFile(
    const std::string& path) {
  const auto file = OpenTokenFile(path);
  if (!file.ok()) return file.status();
  const auto text = ReadCheckedText(*file, path);
  if (!text.ok()) return text.status();
  auto entries = ParseTokens(*text, path);
  if (!entries.ok()) return entries.status();
  std::vector<StoredToken> tokens;
  tokens.reserve(entries->size());
  for (TokenEntry& entry : *entries) tokens.push_back(std::move(entry.token));
  return tokens;
}

}  // namespace actord::identity
