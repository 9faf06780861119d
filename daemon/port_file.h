// The file that tells which ports were picked.
//
// Thread-safety: none.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace actord::daemon {

// Removes what an earlier run left, so that nobody reads a port that is not
// served. A file that is not there is fine.
absl::Status RemovePortFile(const std::string& path);

// Writes one port a line, in one go: a reader sees all of it or no file.
absl::Status WritePortFile(const std::string& path,
                           const std::vector<int>& ports);

// Removes what WritePortFile wrote, unless somebody has put something else
// there meanwhile: another daemon, say, that serves by now.
absl::Status RemoveOwnPortFile(const std::string& path,
                               const std::vector<int>& ports);

}  // namespace actord::daemon
