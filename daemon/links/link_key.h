// The key that signs links to yields, in a file of its own.
//
// The file has 64 hexadecimal digits, and a line end. A reader of the file
// can make links to every yield, so only its owner may read it: the daemon's
// user or root.
//
// Thread-safety: pure functions, apart from the file.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace actord::daemon {

using LinkKey = std::array<uint8_t, 32>;

// Reads the key. If there is no file, makes one with mode 0600 and a random key
// first, which is on the disk when the function returns; of two daemons that do
// so at once, both get the same key. INVALID_ARGUMENT: the file cannot be read
// or made, others may read it, or it holds no key. The message names the file.
absl::StatusOr<LinkKey> OpenLinkKey(const std::string& path);

}  // namespace actord::daemon
