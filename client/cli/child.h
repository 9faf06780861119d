// Runs a shell command as a child with input and output in memory.
//
// Thread-safety: any thread; each call has a child of its own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"

namespace actord::client {

struct ChildOrder {
  std::string command;                   // for /bin/sh -c
  std::vector<std::string> environment;  // NAME=value, beside the own one
  std::string input;                     // its standard input
  size_t max_output_bytes = 0;           // more of standard output ends it
  // From being asked to end (SIGTERM) to being made to (SIGKILL).
  absl::Duration grace = absl::Seconds(5);
};

struct ChildEnd {
  int exit_status = 0;
  int signal = 0;  // that ended it; 0: none did
  std::string output;
  std::string errors;  // the end of its standard error, 4096 bytes at most
  bool cancelled = false;
  bool too_much_output = false;
};

// Waits for its end. When cancelled, ends it and all that it started in its
// process group. What it leaves behind in the background is not waited for.
// Error: it could not be started.
absl::StatusOr<ChildEnd> RunChild(const ChildOrder& order,
                                  Cancellation& cancellation);

}  // namespace actord::client
