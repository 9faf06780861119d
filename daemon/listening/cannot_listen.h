// The errors of addresses that the check of the configuration or the system
// refuses.
//
// Thread-safety: pure functions; they look at the file system and at /proc.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

inline constexpr char kListenKey[] = "server.listen";
inline constexpr char kAdminListenKey[] = "admin.listen";

// UNAVAILABLE: "server.listen: cannot listen on ADDRESS: the reason". `key` is
// the setting with the address. If the address is in use, the message also
// names the program that uses it, or says how to find it.
absl::Status CannotListen(const std::string& key, const std::string& address,
                          const std::string& reason);

// INVALID_ARGUMENT: an address is listed twice, in server.listen and
// admin.listen together. Port 0 may be listed again.
absl::Status CheckAddressList(const Config& config);

// What else the configuration's Unix sockets need, without a bind. Each error
// is a line: the path is too long or of another kind, or its folder does not
// exist or may not be written. A folder directly below /run may be missing,
// because service managers make such a folder when they start the daemon.
absl::Status CheckSocketFolders(const Config& config);

}  // namespace actord::daemon
