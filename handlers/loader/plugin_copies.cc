#include "handlers/loader/plugin_copies.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <openssl/evp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

namespace actord::handlers {
namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr size_t kDigestDigits = 64;
constexpr std::string_view kExtension = ".so";

std::string ErrorText() {
  return std::error_code(errno, std::generic_category()).message();
}

absl::Status CannotRead() {
  return absl::InvalidArgumentError("cannot be read: " + ErrorText());
}

absl::Status CannotWrite(const std::string& what) {
  return absl::ResourceExhaustedError(what + ": " + ErrorText());
}

// The SHA-256 of bytes that are added piece by piece.
class Sha256 {
 public:
  Sha256() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void Add(const char* bytes, size_t size) {
    EVP_DigestUpdate(context_.get(), bytes, size);
  }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string hex;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (size_t i = 0; i < size; ++i) {
      hex += kDigits[digest[i] >> 4];
      hex += kDigits[digest[i] & 15];
    }
    return hex;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

bool WriteAll(int to, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(to, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Reads the whole file, copies it to `to` unless that is -1, and returns the
// digest of the bytes.
absl::StatusOr<std::string> CopyBytes(int from, int to) {
  std::vector<char> chunk(kChunkBytes);
  Sha256 digest;
  uint64_t copied = 0;
  for (;;) {
    const ssize_t size =
        pread(from, chunk.data(), chunk.size(), static_cast<off_t>(copied));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return CannotRead();
    if (size == 0) return digest.Hex();
    const auto bytes = static_cast<size_t>(size);
    copied += bytes;
    if (copied > PluginCopies::kMaxBytes) {
      return absl::InvalidArgumentError(
          "it is longer than " + std::to_string(PluginCopies::kMaxBytes) +
          " bytes, the limit of a plugin");
    }
    digest.Add(chunk.data(), bytes);
    if (to >= 0 && !WriteAll(to, chunk.data(), bytes)) {
      return CannotWrite("there is no room for a copy of it");
    }
  }
}

// The name of the file without its extension, from characters that are safe in
// a file name.
std::string StemOf(std::string_view path) {
  constexpr size_t kMaxStemBytes = 64;
  std::string stem =
      std::filesystem::path(path).stem().string().substr(0, kMaxStemBytes);
  for (char& character : stem) {
    const bool is_safe = (character >= 'a' && character <= 'z') ||
                         (character >= 'A' && character <= 'Z') ||
                         (character >= '0' && character <= '9') ||
                         character == '_' || character == '-';
    if (!is_safe) character = '_';
  }
  return stem.empty() ? "plugin" : stem;
}

absl::StatusOr<PluginCopy> CopyToMemory(int original, const std::string& stem) {
  PluginCopy copy;
  copy.file = UniqueFd(
      memfd_create((stem + ".so").c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (copy.file.get() < 0) return CannotWrite("it cannot be copied to memory");
  auto digest = CopyBytes(original, copy.file.get());
  if (!digest.ok()) return digest.status();
  copy.digest = *std::move(digest);
  if (fcntl(copy.file.get(), F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return CannotWrite("its copy in memory cannot be sealed");
  }
  return copy;
}

// Whether this is the name of a finished or an unfinished copy.
bool IsNameOfCopy(std::string_view name) {
  if (name.ends_with(".tmp") && name.starts_with('.')) return true;
  if (!name.ends_with(kExtension)) return false;
  name.remove_suffix(kExtension.size());
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return false;
  const std::string_view digits = name.substr(dash + 1);
  return digits.size() == kDigestDigits &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsTrusted(uid_t owner) { return owner == 0 || owner == geteuid(); }

std::string ModeText(mode_t mode) {
  constexpr mode_t kPermissions = 07777;
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o",
                static_cast<unsigned>(mode & kPermissions));
  return text.data();
}

// Whether the user is the only member of the group, as Debian makes a group for
// each user. Such a user may have a umask of 002.
bool IsPrivateGroup(uid_t user, gid_t group) {
  constexpr size_t kEntryBytes = size_t{1} << 16;
  std::vector<char> user_texts(kEntryBytes);
  std::vector<char> group_texts(kEntryBytes);
  passwd user_entry = {};
  passwd* user_found = nullptr;
  struct group group_entry = {};
  struct group* group_found = nullptr;
  if (getpwuid_r(user, &user_entry, user_texts.data(), user_texts.size(),
                 &user_found) != 0 ||
      getgrgid_r(group, &group_entry, group_texts.data(), group_texts.size(),
                 &group_found) != 0 ||
      user_found == nullptr || group_found == nullptr) {
    return false;
  }
  const std::string_view name = user_entry.pw_name;
  if (user_entry.pw_gid != group || name != group_entry.gr_name) return false;
  for (char** member = group_entry.gr_mem; *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

// `what` begins the sentence of the error.
absl::Status CheckOwners(const struct stat& info, const std::string& what) {
  if (!IsTrusted(info.st_uid)) {
    return absl::PermissionDeniedError(
        what + " belongs to user " + std::to_string(info.st_uid) +
        ", who could change the code of the daemon; it must belong to root or "
        "to user " +
        std::to_string(geteuid()));
  }
  const bool group_writes = (info.st_mode & S_IWGRP) != 0 &&
                            !IsPrivateGroup(info.st_uid, info.st_gid);
  if (group_writes || (info.st_mode & S_IWOTH) != 0) {
    return absl::PermissionDeniedError(
        what + " can be written by " +
        ((info.st_mode & S_IWOTH) != 0 ? "everybody" : "its group") +
        " (mode " + ModeText(info.st_mode) +
        "), who could change the code of the daemon; chmod go-w");
  }
  return absl::OkStatus();
}

// The path of an open file, without links.
absl::StatusOr<std::filesystem::path> PathOf(int file) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink(
      "/proc/self/fd/" + std::to_string(file), error);
  if (error) return absl::InvalidArgumentError(error.message());
  return path;
}

// Whether only root and the daemon's user can put something else in the place
// of `path`, which has no links. In a sticky directory only the owner of an
// entry, and the owner of the directory, can rename the entry.
absl::Status CheckParents(std::filesystem::path path) {
  while (path.has_relative_path()) {
    path = path.parent_path();
    struct stat info = {};
    if (lstat(path.c_str(), &info) != 0) return CannotRead();
    if ((info.st_mode & S_ISVTX) != 0) info.st_mode &= ~(S_IWGRP | S_IWOTH);
    absl::Status status =
        CheckOwners(info, "the directory " + path.string() + " above it");
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

PluginCopies::PluginCopies(const std::string& directory)
    : directory_(directory) {
  if (directory_.empty()) {
    status_ = absl::NotFoundError("no directory for copies is known");
    return;
  }
  status_ = OpenDirectory();
  if (status_.ok()) {
    RemoveOldCopies();
  } else {
    directory_fd_ = UniqueFd();
  }
}

absl::Status PluginCopies::OpenDirectory() {
  const auto unusable = [this](const std::string& why) {
    return absl::FailedPreconditionError(directory_ + ": " + why);
  };
  std::error_code error;
  const std::filesystem::path parent =
      std::filesystem::path(directory_).parent_path();
  std::filesystem::create_directories(parent, error);
  constexpr mode_t kPrivate = 0700;
  if (mkdir(directory_.c_str(), kPrivate) != 0 && errno != EEXIST) {
    return unusable(ErrorText());
  }
  directory_fd_ = UniqueFd(open(
      directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info = {};
  struct statvfs system = {};
  if (directory_fd_.get() < 0 || fstat(directory_fd_.get(), &info) != 0 ||
      fstatvfs(directory_fd_.get(), &system) != 0) {
    return unusable(ErrorText());
  }
  if (absl::Status status = CheckOwners(info, "it"); !status.ok()) {
    return unusable(std::string(status.message()));
  }
  auto path = PathOf(directory_fd_.get());
  if (!path.ok()) return unusable(std::string(path.status().message()));
  if (absl::Status status = CheckParents(*path); !status.ok()) {
    return unusable(std::string(status.message()));
  }
  if ((system.f_flag & ST_NOEXEC) != 0) {
    return unusable("its file system is mounted with noexec");
  }
  if ((system.f_flag & ST_RDONLY) != 0 ||
      faccessat(directory_fd_.get(), ".", W_OK, AT_EACCESS) != 0) {
    return unusable("it cannot be written");
  }
  // The linker opens the copies by this path. A link in the given path could
  // lead elsewhere by then.
  directory_ = path->string();
  return absl::OkStatus();
}

void PluginCopies::RemoveOldCopies() const {
  const int own =
      openat(directory_fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(own), closedir);
  if (entries == nullptr) {
    close(own);
    return;
  }
  const time_t oldest = time(nullptr) - absl::ToInt64Seconds(kKeptFor);
  while (const dirent* const entry = readdir(entries.get())) {
    struct stat info = {};
    if (IsNameOfCopy(entry->d_name) &&
        fstatat(directory_fd_.get(), entry->d_name, &info,
                AT_SYMLINK_NOFOLLOW) == 0 &&
        info.st_mtime < oldest) {
      unlinkat(directory_fd_.get(), entry->d_name, 0);
    }
  }
}

UniqueFd PluginCopies::FindCopy(const std::string& name,
                                std::string_view digest) const {
  UniqueFd file(openat(directory_fd_.get(), name.c_str(),
                       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0) {
    return UniqueFd();
  }
  const auto found = CopyBytes(file.get(), -1);
  if (!found.ok() || *found != digest) return UniqueFd();
  // It is in use, and not old.
  futimens(file.get(), nullptr);
  return file;
}

absl::StatusOr<PluginCopy> PluginCopies::CopyToDirectory(
    int original, const std::string& stem) const {
  auto known = CopyBytes(original, -1);
  if (!known.ok()) return known.status();
  const std::string known_name = stem + "-" + *known + std::string(kExtension);
  if (UniqueFd file = FindCopy(known_name, *known); file.get() >= 0) {
    return PluginCopy{.file = std::move(file),
                      .path = directory_ + "/" + known_name,
                      .digest = *std::move(known)};
  }
  static std::atomic<uint64_t> last{0};
  const std::string unfinished = "." + stem + "-" + std::to_string(getpid()) +
                                 "-" + std::to_string(++last) + ".tmp";
  const int directory = directory_fd_.get();
  // The name may be left from a process that had the same number.
  unlinkat(directory, unfinished.c_str(), 0);
  constexpr mode_t kUnfinished = 0600;
  constexpr mode_t kFinished = 0500;
  const UniqueFd to(openat(directory, unfinished.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                           kUnfinished));
  if (to.get() < 0) return CannotWrite("it cannot be copied");
  auto digest = CopyBytes(original, to.get());
  PluginCopy copy;
  if (digest.ok()) {
    const std::string name = stem + "-" + *digest + std::string(kExtension);
    copy.path = directory_ + "/" + name;
    if (fchmod(to.get(), kFinished) == 0 &&
        renameat(directory, unfinished.c_str(), directory, name.c_str()) == 0) {
      copy.file = UniqueFd(
          openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    }
    copy.digest = *std::move(digest);
    if (copy.file.get() >= 0) return copy;
    digest = CannotWrite("it cannot be copied");
  }
  unlinkat(directory, unfinished.c_str(), 0);
  return digest.status();
}

absl::StatusOr<PluginCopy> PluginCopies::Copy(int original,
                                              std::string_view path) const {
  struct stat info = {};
  if (fstat(original, &info) != 0) return CannotRead();
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError("not a file");
  const std::string stem = StemOf(path);
  if (directory_fd_.get() >= 0) {
    auto copy = CopyToDirectory(original, stem);
    if (copy.ok() || absl::IsInvalidArgument(copy.status())) return copy;
  }
  return CopyToMemory(original, stem);
}

absl::Status CheckOnlyOwnersWrite(int file) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return CannotRead();
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError("not a file");
  absl::Status status = CheckOwners(info, "the file");
  if (!status.ok()) return status;
  // The path of the descriptor, which links can no longer change.
  const auto path = PathOf(file);
  if (!path.ok()) return path.status();
  const std::string directory = path->parent_path().string();
  if (stat(directory.c_str(), &info) != 0) return CannotRead();
  return CheckOwners(info, "the directory " + directory);
}

}  // namespace actord::handlers
