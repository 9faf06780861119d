#include "handlers/commands/allowed_directories.h"

#include <actord/excerpt.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace actord::handlers {
namespace {

// Maximum number of retries: openat2 fails with EAGAIN during a rename.
constexpr int kMaxAttempts = 8;

// Maximum length of a path in an error. A payload may hold a longer path than
// any file has.
constexpr size_t kMaxShownBytes = 256;

std::string ErrorText(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// "/a//b/./c" → a, b, c. ".." stays: the kernel resolves it.
std::vector<std::string> Split(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    if (!component.empty() && component != ".") {
      components.emplace_back(component);
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return components;
}

// The kernel itself refuses to leave the directory.
int OpenBeneath(int directory, const std::string& path) {
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const long fd =
        syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return -1;
}

Status OpenError(int error, std::string_view path) {
  const std::string quoted = "'" + Excerpt(path, kMaxShownBytes) + "'";
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {Code::kNotFound, "there is no file " + quoted};
    case EXDEV:
    case ELOOP:
      return {Code::kPermissionDenied,
              quoted + " leads out of the allowed directories"};
    case EACCES:
    case EPERM:
      return {Code::kPermissionDenied,
              quoted + " cannot be read: " + ErrorText(error)};
    case ENAMETOOLONG:
      return {Code::kInvalidArgument, ErrorText(error) + ": " + quoted};
    case ENOSYS:
      return {Code::kUnimplemented,
              "this kernel has no openat2 (Linux 5.6), without which files "
              "cannot be opened safely"};
    default:
      return {Code::kUnavailable,
              quoted + " cannot be opened: " + ErrorText(error)};
  }
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<AllowedDirectories> AllowedDirectories::Open(
    const std::vector<std::string>& paths) {
  AllowedDirectories allowed;
  for (const std::string& path : paths) {
    if (!path.starts_with('/')) {
      return absl::InvalidArgumentError("directory '" + path +
                                        "' is not an absolute path");
    }
    UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) {
      return absl::InvalidArgumentError("directory '" + path +
                                        "': " + ErrorText(errno));
    }
    allowed.directories_.push_back({Split(path), std::move(fd)});
  }
  return allowed;
}

Status AllowedDirectories::OpenFile(std::string_view path,
                                    UniqueFd& file) const {
  if (!path.starts_with('/') || path.find('\0') != path.npos) {
    return {Code::kInvalidArgument,
            "'" + Excerpt(path, kMaxShownBytes) + "' is not an absolute path"};
  }
  const std::vector<std::string> components = Split(path);
  Status error(Code::kPermissionDenied,
               "'" + Excerpt(path, kMaxShownBytes) +
                   "' is not below a directory that the daemon allows");
  for (const Directory& directory : directories_) {
    const auto [rest, end] =
        std::mismatch(components.begin(), components.end(),
                      directory.components.begin(), directory.components.end());
    if (end != directory.components.end()) continue;
    std::string beneath = ".";
    for (auto at = rest; at != components.end(); ++at) beneath += "/" + *at;
    file = UniqueFd(OpenBeneath(directory.fd.get(), beneath));
    if (file.get() >= 0) return {};
    error = OpenError(errno, path);
  }
  return error;
}

}  // namespace actord::handlers
