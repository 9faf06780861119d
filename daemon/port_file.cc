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

constexpr mode_t kMode = 0666;  // less the umask

absl::Status Failed(const std::string& path, const char* what, int error) {
  return absl::InvalidArgumentError(absl::StrCat(
      "port file ", path, ": cannot ", what, ": ", std::strerror(error)));
}

// Whether all of it was written; errno says why not.
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
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  const int descriptor =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
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

absl::Status PortFile::Remove() {
  struct stat own {};
  struct stat there {};
  if (fstat(descriptor_, &own) != 0) return Failed(path_, "find it", errno);
  // What cannot be looked at, RemovePortFile cannot remove either, and says so.
  if (stat(path_.c_str(), &there) == 0 &&
      (there.st_dev != own.st_dev || there.st_ino != own.st_ino)) {
    return absl::OkStatus();
  }
  return RemovePortFile(path_);
}

}  // namespace actord::daemon
