#include "daemon/operations/store/store_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/operations/restore_store.h"
#include "runtime/files/file_system.h"
#include "runtime/files/lock_holder.h"
#include "runtime/journal/meta.h"

namespace actord::daemon {
namespace {

absl::Status Unusable(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

// Whether a directory can be made at `path`, where nothing is.
absl::Status CheckCanBeMade(const std::filesystem::path& path) {
  const std::filesystem::path parent =
      path.has_parent_path() ? path.parent_path() : ".";
  struct stat state {};
  if (stat(parent.c_str(), &state) != 0) {
    if (errno == ENOENT && parent.parent_path() == "/var/lib") {
      return absl::OkStatus();
    }
    return Unusable(absl::StrCat("it cannot be made, because of ",
                                 parent.string(), ": ", std::strerror(errno)));
  }
  if (!S_ISDIR(state.st_mode)) {
    return Unusable(absl::StrCat("it cannot be made, because ", parent.string(),
                                 " is not a directory"));
  }
  if (access(parent.c_str(), W_OK | X_OK) != 0) {
    return Unusable(
        absl::StrCat("it cannot be made, because ", parent.string(),
                     " may not be written: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

// The holder of the lock of the directory; "": none is known.
std::string UserOf(const std::string& directory) {
  const int descriptor =
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return "";
  const std::string holder = runtime::LockHolder(descriptor);
  close(descriptor);
  return holder;
}

absl::Status CheckContent(const std::string& directory) {
  absl::Status status = CheckIsNoBackup(directory);
  if (!status.ok()) return status;
  std::string damaged;
  status = runtime::MetaFiles(runtime::FileSystem::System(), directory)
               .Read(damaged)
               .status();
  // A start makes a store.
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status CheckDirectory(const std::string& directory) {
  struct stat state {};
  if (stat(directory.c_str(), &state) != 0) {
    return errno == ENOENT ? CheckCanBeMade(directory)
                           : Unusable(std::strerror(errno));
  }
  if (!S_ISDIR(state.st_mode)) return Unusable("it is not a directory");
  if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return Unusable(
        absl::StrCat("it may not be written: ", std::strerror(errno)));
  }
  return CheckContent(directory);
}

}  // namespace

StoreCheck CheckStoreDirectory(const std::string& directory) {
  StoreCheck check;
  if (directory.empty()) return check;
  const std::string subject = absl::StrCat("store.directory ", directory);
  const absl::Status status = CheckDirectory(directory);
  if (!status.ok()) {
    check.status =
        absl::StartsWith(status.message(), subject)
            ? status
            : absl::Status(status.code(),
                           absl::StrCat(subject, ": ", status.message()));
    return check;
  }
  const std::string holder = UserOf(directory);
  if (!holder.empty()) {
    check.in_use =
        absl::StrCat(subject, " is in use by another program", holder,
                     ", which must end before this daemon "
                     "can start");
  }
  return check;
}

}  // namespace actord::daemon
