// The two ways of "actorctl top": live on a terminal, and one frame for
// scripts.
//
// Thread-safety: for the thread that runs the command.
#pragma once

#include <cstdint>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"
#include "client/top/sample.h"
#include "client/top/view.h"

namespace actord::client::top {

struct TopOptions {
  ViewOptions view;
  uint64_t max_processes = 10'000;
  uint64_t limit = 0;  // rows that --once writes; 0: all
};

// Until somebody quits or the command's time is over. A daemon that is gone, or
// not there yet, is tried again for as long.
ExitStatus RunLive(Invocation& invocation, const TopOptions& options);

// Looks twice, an interval apart, so that there are rates, and writes what it
// saw in the format that -o asks for.
ExitStatus RunOnce(Invocation& invocation, const TopOptions& options);

}  // namespace actord::client::top
