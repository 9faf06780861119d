// The two modes of "actorctl top": live on a terminal, and one frame for
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
  // Maximum number of rows that --once writes; 0: all.
  uint64_t limit = 0;
};

// Runs until somebody quits or the command's deadline. Retries a lost or
// missing daemon until then.
ExitStatus RunLive(Invocation& invocation, const TopOptions& options);

// Takes two samples, an interval apart, so that there are rates, and writes
// them in the format of -o.
ExitStatus RunOnce(Invocation& invocation, const TopOptions& options);

}  // namespace actord::client::top
