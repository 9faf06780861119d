// Reads the files of TLS together, as of one moment.
//
// Thread-safety: pure functions, apart from reading the files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// The contents of the files of TlsSettings; "": not set.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string crl;

  friend bool operator==(const TlsTexts&, const TlsTexts&) = default;
};

// INVALID_ARGUMENT: a setting needs another setting, which is missing.
absl::Status CheckTlsSettings(const TlsSettings& settings);

// Reads the files until two readings in a row agree, because another program
// may be replacing them. INVALID_ARGUMENT names the setting, the file and the
// mistake: it cannot be read, is not a regular file, is too large, may be
// written by others, or is a key that others may read.
absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsSettings& settings);

}  // namespace actord::daemon
