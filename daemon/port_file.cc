#include "daemon/port_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

// The mode of the file. The umask reduces it.
constexpr mode_t kPortFileMode = 0666;

absl::Status Failed(const std::string& path, const char* what, int error) {
  return absl::InvalidArgumentError(absl::StrCat(
      "port file ", path, ": cannot ", what, ": ", std::strerror(error)));
}

std::string PathBeside(const std::string& path, std::string_view purpose) {
  return absl::StrCat(path, ".", getpid(), ".", std::string(purpose));
}

// Writes all of `text`. False: a write has failed, and errno has the reason.
bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

absl::Status RemovePortFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failed(path, "remove it", errno);
}

absl::StatusOr<std::unique_ptr<PortFile>> PortFile::Write(
    const std::string& path, const std::vector<int>& ports) {
  std::string text;
  for (const int port : ports) absl::StrAppend(&text, port, "\n");
  const std::string temporary = PathBeside(path, "tmp");
  const int descriptor =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
           kPortFileMode);
  if (descriptor < 0) return Failed(path, "write it", errno);
  std::unique_ptr<PortFile> file(new PortFile(path, descriptor));
  if (!WriteAll(descriptor, text) ||
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return Failed(path, "write it", error);
  }
  return file;
}

PortFile::PortFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

PortFile::~PortFile() { close(descriptor_); }

bool PortFile::IsOthers(const std::string& path) const {
  struct stat own {};
  struct stat there {};
  return fstat(descriptor_, &own) == 0 && stat(path.c_str(), &there) == 0 &&
         (there.st_dev != own.st_dev || there.st_ino != own.st_ino);
}

absl::Status PortFile::Remove() {
  if (IsOthers(path_)) return absl::OkStatus();
  // No system call removes a file only if it is still the same. So the file is
  // first renamed to a name that no other program uses.
  const std::string aside = PathBeside(path_, "old");
  if (std::rename(path_.c_str(), aside.c_str()) != 0) {
    return errno == ENOENT ? absl::OkStatus()
                           : Failed(path_, "remove it", errno);
  }
  // A file that another daemon wrote meanwhile is put back, unless a newer file
  // exists.
  if (IsOthers(aside) && link(aside.c_str(), path_.c_str()) != 0 &&
      errno != EEXIST) {
    return Failed(path_, "put back what another daemon wrote", errno);
  }
  return RemovePortFile(aside);
}

}  // namespace actord::daemon
