#include "daemon/operations/restore_store.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/files/file_system.h"
#include "runtime/store_tools/backup_manifest.h"
#include "runtime/store_tools/restore_backup.h"

namespace actord::daemon {

absl::Status RestoreStore(const std::string& backup,
                          const std::string& directory, Logger& logger) {
  if (backup.empty()) return absl::OkStatus();
  const auto manifest =
      runtime::RestoreBackup(backup, directory, runtime::FileSystem::System());
  if (!manifest.ok()) {
    const auto code = absl::IsAlreadyExists(manifest.status())
                          ? absl::StatusCode::kFailedPrecondition
                          : manifest.status().code();
    return {code, absl::StrCat("--restore ", backup, ": ",
                               manifest.status().message())};
  }
  logger.Info(absl::StrCat(
      "created the store in \"", directory, "\" from the backup ", backup,
      " of ",
      absl::FormatTime(
          absl::RFC3339_sec,
          absl::FromUnixSeconds(static_cast<int64_t>(manifest->unix_seconds)),
          absl::UTCTimeZone()),
      ", position ", manifest->position, ", incarnation ",
      manifest->incarnation));
  return absl::OkStatus();
}

absl::Status CheckIsNoBackup(const std::string& directory) {
  const std::string manifest =
      absl::StrCat(directory, "/", std::string(runtime::kManifestName));
  const auto file =
      runtime::FileSystem::System().Open(manifest, runtime::OpenMode::kRead);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  return absl::FailedPreconditionError(absl::StrCat(
      "store.directory ", directory,
      " is a backup, which a daemon would change: start it with --restore ",
      directory, " and another --store"));
}

}  // namespace actord::daemon
