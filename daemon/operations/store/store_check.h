// Looks at the store of a configuration without opening it, for
// --check-config.
//
// Thread-safety: a pure function of the disk.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::daemon {

struct StoreCheck {
  // OK if a start could use the directory: it can be written and is empty or a
  // store that this version reads, or a start could make it.
  absl::Status status;
  // Who uses the store now, which a start would have to wait for; "": nobody is
  // known.
  std::string in_use;
};

// Changes nothing and takes no lock. A directory that does not exist may be
// made directly in a directory that exists. One directly below a missing
// directory of /var/lib is accepted, because service managers make such a
// directory when they start the daemon. "" is no store, which is good.
StoreCheck CheckStoreDirectory(const std::string& directory);

}  // namespace actord::daemon
