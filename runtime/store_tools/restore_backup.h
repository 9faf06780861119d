// Checks a backup, and makes a store from it.
//
// Thread-safety: pure functions of the directories.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/store_tools/backup_manifest.h"

namespace actord::runtime {

// The incarnation of a restored store is higher by this number. The copied
// store may have continued, too, and no PID may name two processes.
inline constexpr uint64_t kRestoreIncarnations = 65'536;

// Reads the manifest and every file that it names. NOT_FOUND: there is no
// manifest, so the backup was interrupted. DATA_LOSS names the file that is
// damaged or missing.
absl::StatusOr<BackupManifest> CheckBackup(const std::string& backup,
                                           FileSystem& files);

// Makes the store `store` from a backup: first below another name beside it, so
// that an interrupted restore leaves no store. Everything is durable when it
// returns. ALREADY_EXISTS: `store` exists; nothing was changed. Others: as
// CheckBackup, or errors of the disk.
absl::StatusOr<BackupManifest> RestoreBackup(const std::string& backup,
                                             const std::string& store,
                                             FileSystem& files);

}  // namespace actord::runtime
