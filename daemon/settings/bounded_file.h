// Reads files that the configuration names, of any kind and length.
//
// Thread-safety: pure functions, apart from reading the file.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace actord::daemon {

enum class FileReading {
  // Blocks while a pipe has no writer.
  kOnce,
  // Reads only a regular file, which is the same at the second reading: a pipe
  // would be empty by then, or block for ever.
  kAgain,
};

// Reads a whole file of up to `max_bytes`. INVALID_ARGUMENT says what is wrong
// with the file, to be written after its name and a colon. `bound` says where
// the limit comes from: "the maximum size of a configuration". The function
// never reads more than the limit, so it refuses an endless device as too long.
absl::StatusOr<std::string> ReadBoundedFile(const std::string& path,
                                            FileReading reading,
                                            size_t max_bytes,
                                            const std::string& bound);

}  // namespace actord::daemon
