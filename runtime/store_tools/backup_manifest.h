// The manifest of a backup: the list of its files, with sizes and SHA-256. It
// is written as the last file of a backup, so a backup without a valid manifest
// was interrupted.
//
// Its lines:
//
//     actord-backup 1
//     unix-seconds 1764170000
//     incarnation 3
//     position 123456
//     file SHA256 BYTES SIZE NAME     (a line for each file)
//     end SHA256                      (of all lines before)
//
// The first BYTES of the file are hashed; the rest, up to SIZE, is zeros.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace actord::runtime {

// The name of the manifest in the directory of a backup.
inline constexpr std::string_view kManifestName = "BACKUP";

// Maximum number of zeros after the bytes of a file: a segment of the journal.
inline constexpr uint64_t kMostZeros = uint64_t{256} << 20;

struct BackupManifest {
  struct File {
    std::string name;    // below the directory of the backup
    uint64_t bytes = 0;  // the hashed bytes
    uint64_t size = 0;   // of the file
    std::string sha256;  // in hexadecimal
  };
  uint64_t unix_seconds = 0;
  uint64_t incarnation = 0;
  // Everything before this position of the journal is in the backup.
  uint64_t position = 0;
  std::vector<File> files;
};

std::string EncodeManifest(const BackupManifest& manifest);
// DATA_LOSS names the wrong line. IsBackupName is true for every name.
absl::StatusOr<BackupManifest> DecodeManifest(std::string_view text);

// "META-0", "META-1", or a plain file name below "journal/", "state/" or
// "plugins/": never a path that leads out of the directory.
bool IsBackupName(std::string_view name);

}  // namespace actord::runtime
