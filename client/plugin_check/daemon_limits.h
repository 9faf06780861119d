// The limits of a daemon that decide about an upgrade, from its configuration
// file.
//
// Thread-safety: a pure function, apart from reading the file.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace actord::client {

// The initial values are those of a daemon without a configuration.
struct DaemonLimits {
  size_t max_payload_bytes = size_t{1} << 20;
  size_t max_record_bytes = size_t{16} << 20;
};

// Reads limits.max_payload_bytes, store.max_record_bytes and
// store.segment_bytes, and checks no other key. NOT_FOUND: there is no file.
// INVALID_ARGUMENT: the file is no TOML, or a value is wrong; the text names
// the file and the line.
absl::StatusOr<DaemonLimits> ReadDaemonLimits(const std::string& path);

}  // namespace actord::client
