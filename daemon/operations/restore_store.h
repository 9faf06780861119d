// actord --restore: makes the store from a backup, before the daemon opens it.
//
// Thread-safety: one thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "daemon/log/logging.h"

namespace actord::daemon {

// Makes the store in `directory`, which must not exist, from the backup. Does
// nothing if `backup` is empty. FAILED_PRECONDITION: the directory exists.
// NOT_FOUND, DATA_LOSS: the backup is incomplete or damaged.
absl::Status RestoreStore(const std::string& backup,
                          const std::string& directory, Logger& logger);

// FAILED_PRECONDITION: the directory is a backup. A daemon must not change it.
absl::Status CheckIsNoBackup(const std::string& directory);

}  // namespace actord::daemon
