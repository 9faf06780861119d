// The daemon's exit statuses, a part of its interface (docs/api.md).
#pragma once

namespace actord::daemon {

enum ExitStatus : int {
  kExitClean = 0,
  kExitUsage = 64,            // the command line is wrong
  kExitCannotListen = 69,     // an address is taken or not ours
  kExitInternal = 70,         // it could not start, for a reason of its own
  kExitDrainTimeout = 75,     // processes had to be forced to end
  kExitBadConfiguration = 78  // file, environment, option or plugin
};

}  // namespace actord::daemon
