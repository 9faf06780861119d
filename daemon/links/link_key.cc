#include "daemon/links/link_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "identity/descriptor.h"
#include "identity/random.h"

namespace actord::daemon {
namespace {

using identity::Descriptor;

constexpr mode_t kKeyMode = 0600;
constexpr mode_t kOthers = 0077;

absl::Status Bad(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", std::string(what)));
}

absl::Status BadCall(const std::string& path, std::string_view what,
                     int error) {
  return Bad(path, absl::StrCat(std::string(what), ": ", std::strerror(error)));
}

absl::Status CheckFile(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) {
    return BadCall(path, "cannot be examined", errno);
  }
  if (!S_ISREG(status.st_mode)) return Bad(path, "is not a regular file");
  const mode_t mode = status.st_mode & 07777u;
  if ((mode & kOthers) != 0) {
    return Bad(path, absl::StrFormat("has mode %04o, and its readers can "
                                     "sign links: chmod 0600 %s",
                                     mode, path));
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return Bad(path, absl::StrCat("belongs to the user ", status.st_uid,
                                  ", and the key must belong to root or to the "
                                  "user of the daemon (",
                                  geteuid(), ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LinkKey> ReadKey(const Descriptor& file,
                                const std::string& path) {
  absl::Status status = CheckFile(file, path);
  if (!status.ok()) return status;
  std::array<char, 256> bytes;
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count =
        read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return BadCall(path, "cannot be read", errno);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  const absl::string_view digits =
      absl::StripTrailingAsciiWhitespace({bytes.data(), size});
  LinkKey key;
  if (digits.size() != 2 * key.size() ||
      !std::all_of(digits.begin(), digits.end(), [](char c) {
        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
      })) {
    return Bad(path, "is not a key of 64 hexadecimal digits");
  }
  const std::string raw = absl::HexStringToBytes(digits);
  std::copy(raw.begin(), raw.end(), key.begin());
  return key;
}

std::string HexOf(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

absl::Status WriteNew(const std::string& path, std::string_view text) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kKeyMode));
  if (!file.is_open()) return BadCall(path, "cannot be made", errno);
  // A umask may have taken bits away.
  if (fchmod(file.get(), kKeyMode) != 0) {
    return BadCall(path, "cannot be given its mode", errno);
  }
  while (!text.empty()) {
    const ssize_t count = write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return BadCall(path, "cannot be written", errno);
    text.remove_prefix(static_cast<size_t>(count));
  }
  if (fsync(file.get()) != 0) {
    return BadCall(path, "cannot be written to the disk", errno);
  }
  return absl::OkStatus();
}

// The key is written into a file beside it, and appears under its name as a
// whole, unless a file has come there meanwhile.
absl::Status MakeKey(const std::string& path) {
  LinkKey key;
  absl::Status status = identity::FillRandom(key);
  if (!status.ok()) return status;
  // A name of its own: two daemons in containers may have one number.
  std::array<uint8_t, 8> suffix;
  status = identity::FillRandom(suffix);
  if (!status.ok()) return status;
  const std::string text = absl::StrCat(HexOf(key), "\n");
  const std::string beside = absl::StrCat(path, ".new.", HexOf(suffix));
  status = WriteNew(beside, text);
  if (status.ok() && link(beside.c_str(), path.c_str()) != 0 &&
      errno != EEXIST) {
    status = BadCall(path, "cannot be made", errno);
  }
  unlink(beside.c_str());
  if (!status.ok()) return status;
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor directory(
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || fsync(directory.get()) != 0) {
    return BadCall(path, "its directory cannot be synchronised", errno);
  }
  return absl::OkStatus();
}

Descriptor OpenFile(const std::string& path) {
  return Descriptor(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

}  // namespace

absl::StatusOr<LinkKey> OpenLinkKey(const std::string& path) {
  Descriptor file = OpenFile(path);
  if (!file.is_open() && errno == ENOENT) {
    absl::Status made = MakeKey(path);
    if (!made.ok()) return made;
    file = OpenFile(path);
  }
  if (!file.is_open()) return BadCall(path, "cannot be opened", errno);
  return ReadKey(file, path);
}

}  // namespace actord::daemon
