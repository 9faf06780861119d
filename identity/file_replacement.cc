#include "identity/file_replacement.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "identity/descriptor.h"
#include "identity/token_file.h"

namespace actord::identity {
namespace {

// A step that failed with `error`, before the rename.
absl::Status Unchanged(int error, const std::string& path,
                       const std::string& what) {
  const absl::Status status = FileError(error, path, what);
  return {status.code(),
          absl::StrCat(status.message(), "; the file is unchanged")};
}

bool WriteAll(int fd, std::string_view text, const FileCalls& calls) {
  while (!text.empty()) {
    const ssize_t count = calls.write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// The step that failed, and the error of the system.
struct Failure {
  const char* step;
  int error;
};

// Writes `text` into a new file at `path`, down to the disk, with the owner,
// group and mode of `like`.
std::optional<Failure> WriteNewFile(const std::string& path,
                                    std::string_view text,
                                    const struct stat& like,
                                    const FileCalls& calls) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Failure{"the file of an earlier edit cannot be removed", errno};
  }
  // Nobody else may open the file before it has its owner and mode.
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
           0600));
  if (!file.is_open()) {
    return Failure{"no new file can be created beside it", errno};
  }
  struct stat created {};
  if (fstat(file.get(), &created) != 0) {
    return Failure{"the new file cannot be examined", errno};
  }
  const bool is_theirs =
      created.st_uid == like.st_uid && created.st_gid == like.st_gid;
  if (!is_theirs && fchown(file.get(), like.st_uid, like.st_gid) != 0) {
    return Failure{"the new file cannot be given its owner and group", errno};
  }
  if (fchmod(file.get(), like.st_mode & 07777u) != 0) {
    return Failure{"the new file cannot be given its mode", errno};
  }
  if (!WriteAll(file.get(), text, calls)) {
    return Failure{"the new file cannot be written", errno};
  }
  if (calls.fsync(file.get()) != 0) {
    return Failure{"the new file cannot be written to the disk", errno};
  }
  return std::nullopt;
}

}  // namespace

absl::Status ReplaceFile(const std::string& path, std::string_view text,
                         const struct stat& old, const FileCalls& calls) {
  const size_t name_at = path.rfind('/') + 1;
  const std::string directory = name_at == 0 ? "." : path.substr(0, name_at);
  const std::string temporary =
      absl::StrCat(path.substr(0, name_at), ".", path.substr(name_at), ".new");
  // Opened first, so that a directory that cannot be synchronised is found
  // before the file is replaced.
  const Descriptor folder(
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    return Unchanged(errno, path, "its directory cannot be opened");
  }
  std::optional<Failure> failure = WriteNewFile(temporary, text, old, calls);
  if (!failure && calls.rename(temporary.c_str(), path.c_str()) != 0) {
    failure = Failure{"cannot be replaced", errno};
  }
  if (failure) {
    unlink(temporary.c_str());
    return Unchanged(failure->error, path, failure->step);
  }
  if (calls.fsync(folder.get()) != 0) {
    return absl::DataLossError(absl::StrCat(
        path,
        ": is replaced, but a loss of power may undo it, because its "
        "directory cannot be synchronised: ",
        std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace actord::identity
