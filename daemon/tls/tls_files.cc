#include "daemon/tls/tls_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace actord::daemon {
namespace {

// A bundle of all public authorities takes a quarter of this.
constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr int kMaxReadings = 4;
// Permissions that a private key must not have: write for its group, any for
// others.
constexpr mode_t kKeyForbids = 0027;
// Permissions that no file may have: write for others.
constexpr mode_t kAnyForbids = 0002;
constexpr mode_t kModeBits = 07777;

absl::Status CheckStatus(const struct stat& status, bool is_key) {
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError("is not a regular file");
  }
  const mode_t mode = status.st_mode & kModeBits;
  if (is_key && (mode & kKeyForbids) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "has mode %04o, and a private key may have 0640 at most, so that only "
        "its owner writes it and others do not read it: chmod 0640",
        mode));
  }
  if ((mode & kAnyForbids) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "has mode %04o, so everybody can replace it: chmod o-w", mode));
  }
  if (is_key && status.st_uid != 0 && status.st_uid != geteuid()) {
    return absl::InvalidArgumentError(
        absl::StrCat("belongs to the user ", status.st_uid,
                     ", and a private key must belong to root or to the "
                     "daemon's user (",
                     geteuid(), ")"));
  }
  return absl::OkStatus();
}

absl::Status Unreadable(int error) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot be read: ", std::strerror(error)));
}

absl::StatusOr<std::string> ReadOne(const std::string& path, bool is_key) {
  // Does not wait for the writer of a pipe.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Unreadable(errno);
  const absl::Cleanup close_it = [fd] { close(fd); };
  struct stat status {};
  if (fstat(fd, &status) != 0) return Unreadable(errno);
  absl::Status trusted = CheckStatus(status, is_key);
  if (!trusted.ok()) return trusted;
  std::string text;
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t count = read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(errno);
    if (count == 0) return text;
    if (static_cast<size_t>(count) > kMaxFileBytes - text.size()) {
      return absl::InvalidArgumentError("is larger than 1MiB");
    }
    text.append(piece.data(), static_cast<size_t>(count));
  }
}

absl::StatusOr<TlsTexts> ReadOnce(const TlsSettings& settings) {
  TlsTexts texts;
  const struct {
    const char* setting;
    const std::string& path;
    std::string& text;
    bool is_key;
  } files[] = {
      {"tls.certificate", settings.certificate, texts.certificate, false},
      {"tls.key", settings.key, texts.key, true},
      {"tls.client_ca", settings.client_ca, texts.client_ca, false},
      {"tls.crl", settings.crl, texts.crl, false},
  };
  for (const auto& file : files) {
    if (file.path.empty()) continue;
    auto text = ReadOne(file.path, file.is_key);
    if (!text.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.setting, ": ", file.path, ": ", text.status().message()));
    }
    file.text = *std::move(text);
  }
  return texts;
}

}  // namespace

absl::Status CheckTlsSettings(const TlsSettings& settings) {
  const struct {
    const char* set;
    bool has;
    const char* needed;
    bool has_needed;
  } pairs[] = {
      {"tls.certificate", !settings.certificate.empty(), "tls.key",
       !settings.key.empty()},
      {"tls.key", !settings.key.empty(), "tls.certificate",
       !settings.certificate.empty()},
      {"tls.client_ca", !settings.client_ca.empty(), "tls.certificate",
       !settings.certificate.empty()},
      {"tls.crl", !settings.crl.empty(), "tls.client_ca",
       !settings.client_ca.empty()},
  };
  for (const auto& pair : pairs) {
    if (pair.has && !pair.has_needed) {
      return absl::InvalidArgumentError(absl::StrCat(
          pair.set, " is set and ", pair.needed, " is not: set both"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsSettings& settings) {
  auto last = ReadOnce(settings);
  for (int i = 1; i < kMaxReadings; ++i) {
    auto again = ReadOnce(settings);
    if (again.ok() && last.ok() && *again == *last) return again;
    if (!again.ok() && !last.ok()) return again;
    last = std::move(again);
  }
  return last;
}

}  // namespace actord::daemon
