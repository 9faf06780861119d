// FileSystem::System: the calls of POSIX and Linux.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/files/file_system.h"
#include "runtime/files/lock_holder.h"

namespace actord::runtime {

namespace {

class PosixFile final : public File {
 public:
  PosixFile(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile() override {
    // Nothing that must be durable depends on it: SyncData has reported errors.
    (void)close(descriptor_);
  }

  absl::StatusOr<size_t> WriteSome(uint64_t offset,
                                   std::string_view bytes) override {
    for (;;) {
      const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(),
                                     static_cast<off_t>(offset));
      if (written >= 0) return static_cast<size_t>(written);
      if (errno != EINTR) return ErrorAt(errno, "pwrite", offset);
    }
  }
  absl::StatusOr<size_t> ReadSome(uint64_t offset, size_t bytes,
                                  char* into) override {
    for (;;) {
      const ssize_t read =
          pread(descriptor_, into, bytes, static_cast<off_t>(offset));
      if (read >= 0) return static_cast<size_t>(read);
      if (errno != EINTR) return ErrorAt(errno, "pread", offset);
    }
  }
  absl::Status SyncData() override {
    // Not repeated, also not after EINTR: see file_system.h.
    if (fdatasync(descriptor_) == 0) return absl::OkStatus();
    return IoError(errno, "fdatasync", Path());
  }
  absl::Status Allocate(uint64_t bytes) override {
    for (;;) {
      // Returns the number instead of setting errno.
      const int error =
          posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
      if (error == 0) return absl::OkStatus();
      if (error != EINTR) return IoError(error, "fallocate", path_);
    }
  }
  absl::StatusOr<uint64_t> Size() override {
    struct stat state = {};
    if (fstat(descriptor_, &state) != 0) return IoError(errno, "fstat", path_);
    return static_cast<uint64_t>(state.st_size);
  }

 private:
  // The present name of the file, which may have been renamed.
  std::string Path() {
    std::error_code error;
    const std::filesystem::path now = std::filesystem::read_symlink(
        absl::StrCat("/proc/self/fd/", descriptor_), error);
    return error ? path_ : now.string();
  }
  // The error of a call for the bytes from `offset` on.
  absl::Status ErrorAt(int error_number, const char* call, uint64_t offset) {
    return IoError(error_number, absl::StrCat(call, " at ", offset, " of"),
                   Path());
  }

  const int descriptor_;
  // The path with which the file was opened.
  const std::string path_;
};

class PosixLock final : public DirectoryLock {
 public:
  explicit PosixLock(int descriptor) : descriptor_(descriptor) {}
  PosixLock(const PosixLock&) = delete;
  PosixLock& operator=(const PosixLock&) = delete;
  ~PosixLock() override { (void)close(descriptor_); }

 private:
  const int descriptor_;
};

class PosixFileSystem final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                             OpenMode mode) override {
    int flags = O_CLOEXEC;
    switch (mode) {
      case OpenMode::kRead:
        flags |= O_RDONLY;
        break;
      case OpenMode::kReadWrite:
        flags |= O_RDWR;
        break;
      case OpenMode::kCreate:
        flags |= O_RDWR | O_CREAT | O_EXCL;
        break;
    }
    const int descriptor = open(path.c_str(), flags, 0600);
    if (descriptor < 0) return IoError(errno, "open", path);
    return std::make_unique<PosixFile>(descriptor, path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return IoError(errno, "rename", absl::StrCat(from, " to ", to));
  }
  absl::Status Unlink(const std::string& path) override {
    if (unlink(path.c_str()) == 0) return absl::OkStatus();
    return IoError(errno, "unlink", path);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& directory) override {
    DIR* const open_directory = opendir(directory.c_str());
    if (open_directory == nullptr) return IoError(errno, "opendir", directory);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(open_directory)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
      errno = 0;
    }
    const int error = errno;
    (void)closedir(open_directory);
    if (error != 0) return IoError(error, "readdir", directory);
    std::sort(names.begin(), names.end());
    return names;
  }
  absl::Status MakeDirectory(const std::string& path) override {
    if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
    const int error = errno;
    struct stat state = {};
    if (error == EEXIST && stat(path.c_str(), &state) == 0 &&
        S_ISDIR(state.st_mode)) {
      return absl::OkStatus();
    }
    return IoError(error, "mkdir", path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    const int descriptor =
        open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return IoError(errno, "open", path);
    const int error = fsync(descriptor) == 0 ? 0 : errno;
    (void)close(descriptor);
    if (error != 0) return IoError(error, "fsync of the directory", path);
    return absl::OkStatus();
  }
  absl::StatusOr<DiskSpace> Space(const std::string& path) override {
    struct statvfs state = {};
    if (statvfs(path.c_str(), &state) != 0) {
      return IoError(errno, "statvfs", path);
    }
    return DiskSpace{.total = uint64_t{state.f_blocks} * state.f_frsize,
                     .available = uint64_t{state.f_bavail} * state.f_frsize};
  }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
      const std::string& path) override {
    const int descriptor =
        open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return IoError(errno, "open", path);
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      return std::make_unique<PosixLock>(descriptor);
    }
    const int error = errno;
    const std::string holder =
        error == EWOULDBLOCK ? LockHolder(descriptor) : "";
    (void)close(descriptor);
    if (error == EWOULDBLOCK) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " is in use by another program", holder,
                       ": stop it, or use another directory. (actorctl "
                       "backup copies the store of a daemon that runs)"));
    }
    return IoError(error, "flock", path);
  }
};

}  // namespace

FileSystem& FileSystem::System() {
  static PosixFileSystem file_system;
  return file_system;
}

}  // namespace actord::runtime
