#include "client/contexts/context_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/output/exit_status.h"
#include "identity/descriptor.h"

namespace actord::client {
namespace {

using identity::Descriptor;

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kOfOthers = 0077;
// How long another actorctl may hold the file.
constexpr int kMaxLockings = 100;
constexpr absl::Duration kLockPause = absl::Milliseconds(50);

absl::Status Failed(const std::string& path, const std::string& what,
                    int error) {
  return UsageError(absl::StrCat(path, ": ", what, ": ", std::strerror(error)));
}

std::string DirectoryOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// `limit`: the most permissive mode that the file may have.
absl::Status CheckTrusted(const struct stat& status, mode_t limit,
                          const std::string& path) {
  const mode_t mode = status.st_mode & 07777u;
  if ((mode & kOfOthers) != 0) {
    return UsageError(absl::StrFormat(
        "%s: has mode %04o, so that other users can read or write it: chmod "
        "%04o %s",
        path, mode, limit, path));
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return UsageError(absl::StrCat(path, ": belongs to the user ",
                                   status.st_uid,
                                   ", and must belong to you or to root"));
  }
  return absl::OkStatus();
}

// NOT_FOUND: there is none.
absl::StatusOr<Descriptor> OpenDirectory(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) {
    return errno == ENOENT ? absl::NotFoundError("")
                           : Failed(path, "cannot be opened", errno);
  }
  struct stat status {};
  if (fstat(directory.get(), &status) != 0) {
    return Failed(path, "cannot be examined", errno);
  }
  absl::Status trusted = CheckTrusted(status, kDirectoryMode, path);
  if (!trusted.ok()) return trusted;
  return directory;
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  const std::string parent = DirectoryOf(path);
  std::filesystem::create_directories(parent, error);
  if (error) {
    return UsageError(
        absl::StrCat(parent, ": cannot be made: ", error.message()));
  }
  if (mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return Failed(path, "cannot be made", errno);
  }
  return absl::OkStatus();
}

absl::Status Lock(const Descriptor& directory, const std::string& path) {
  for (int i = 0; i < kMaxLockings; ++i) {
    if (flock(directory.get(), LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Failed(path, "cannot be locked", errno);
    }
    absl::SleepFor(kLockPause);
  }
  return UsageError(
      absl::StrCat(path, ": another actorctl edits the contexts; try again"));
}

struct OpenFile {
  Descriptor file;
  struct stat status = {};
};

// NOT_FOUND: there is none.
absl::StatusOr<OpenFile> OpenContexts(const Descriptor& directory,
                                      const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  OpenFile opened;
  opened.file =
      Descriptor(openat(directory.get(), name.c_str(),
                        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!opened.file.is_open()) {
    return errno == ENOENT ? absl::NotFoundError("")
                           : Failed(path, "cannot be opened", errno);
  }
  if (fstat(opened.file.get(), &opened.status) != 0) {
    return Failed(path, "cannot be examined", errno);
  }
  if (!S_ISREG(opened.status.st_mode)) {
    return UsageError(absl::StrCat(path, ": is not a regular file"));
  }
  absl::Status trusted = CheckTrusted(opened.status, kFileMode, path);
  if (!trusted.ok()) return trusted;
  return opened;
}

absl::StatusOr<Contexts> ReadOpen(const OpenFile& opened,
                                  const std::string& path) {
  std::string text;
  std::array<char, 16384> piece;
  // One byte more than the limit: ParseContexts says that it is too large.
  while (text.size() <= kMaxContextsBytes) {
    const ssize_t count = read(opened.file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed(path, "cannot be read", errno);
    if (count == 0) break;
    text.append(piece.data(), static_cast<size_t>(count));
  }
  return ParseContexts(text, path);
}

absl::StatusOr<OpenFile> OpenOrCreate(const Descriptor& directory,
                                      const std::string& path) {
  auto opened = OpenContexts(directory, path);
  if (!absl::IsNotFound(opened.status())) return opened;
  const Descriptor created(
      open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!created.is_open()) return Failed(path, "cannot be created", errno);
  return OpenContexts(directory, path);
}

}  // namespace

std::string ContextsPath(
    const std::function<std::string(const char*)>& variable) {
  constexpr const char* kName = "/actorctl/contexts.toml";
  // A relative path is to be ignored (XDG Base Directory Specification).
  if (const std::string config = variable("XDG_CONFIG_HOME");
      config.starts_with('/')) {
    return config + kName;
  }
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + "/.config" + kName : std::string();
}

absl::StatusOr<Contexts> ReadContexts(const std::string& path) {
  const auto directory = OpenDirectory(DirectoryOf(path));
  if (absl::IsNotFound(directory.status())) return Contexts();
  if (!directory.ok()) return directory.status();
  const auto opened = OpenContexts(*directory, path);
  if (absl::IsNotFound(opened.status())) return Contexts();
  if (!opened.ok()) return opened.status();
  return ReadOpen(*opened, path);
}

absl::Status EditContexts(const std::string& path,
                          const std::function<absl::Status(Contexts&)>& edit,
                          const identity::FileCalls& calls) {
  absl::Status status = MakeDirectory(DirectoryOf(path));
  if (!status.ok()) return status;
  const auto directory = OpenDirectory(DirectoryOf(path));
  if (!directory.ok()) return directory.status();
  status = Lock(*directory, path);
  if (!status.ok()) return status;
  const auto opened = OpenOrCreate(*directory, path);
  if (!opened.ok()) return opened.status();
  auto contexts = ReadOpen(*opened, path);
  if (!contexts.ok()) return contexts.status();
  status = edit(*contexts);
  if (!status.ok()) return status;
  const std::string text = ContextsText(*contexts);
  const auto read_back = ParseContexts(text, path);
  if (!read_back.ok()) return read_back.status();
  if (*read_back != *contexts) {
    return absl::InternalError(absl::StrCat(
        path,
        ": the contexts cannot be written so that they are read the "
        "same; the file is unchanged"));
  }
  return identity::ReplaceFile(path, text, opened->status, calls);
}

}  // namespace actord::client
