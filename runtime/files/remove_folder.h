// Removes a folder with all its contents.
//
// Thread-safety: pure function of the disk.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::runtime {

// OK if there is no such folder.
absl::Status RemoveFolder(const std::string& path);

}  // namespace actord::runtime
