#include "daemon/settings/bounded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "daemon/settings/config_text.h"

namespace actord::daemon {
namespace {

absl::Status CannotRead(int error) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot be read: ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::string> ReadBoundedFile(const std::string& path,
                                            FileReading reading,
                                            size_t max_bytes,
                                            const std::string& bound) {
  const bool again = reading == FileReading::kAgain;
  // Non-blocking, because opening a pipe without a writer would block.
  const int descriptor =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | (again ? O_NONBLOCK : 0));
  if (descriptor < 0) return CannotRead(errno);
  const absl::Cleanup close_it = [descriptor] { close(descriptor); };
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return CannotRead(errno);
  if (again && !S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError("is not a regular file");
  }
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t count = read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(errno);
    if (count == 0) return text;
    if (static_cast<size_t>(count) > max_bytes - text.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is larger than ", FormatSizeText(max_bytes), ", ", bound));
    }
    text.append(piece.data(), static_cast<size_t>(count));
  }
}

}  // namespace actord::daemon
