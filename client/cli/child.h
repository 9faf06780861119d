// Runs a shell command as a child process, with input and output in memory.
//
// Thread-safety: any thread; each call has its own child.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"

namespace actord::client {

struct ChildOrder {
  // For /bin/sh -c.
  std::string command;
  // NAME=value, added to this program's environment.
  std::vector<std::string> environment;
  // Standard input of the child.
  std::string input;
  // A child that writes more to standard output is ended.
  size_t max_output_bytes = 0;
  // Time between SIGTERM and SIGKILL.
  absl::Duration grace = absl::Seconds(5);
};

struct ChildEnd {
  int exit_status = 0;
  // The signal that ended the child; 0: none.
  int signal = 0;
  std::string output;
  // The end of its standard error, at most 4096 bytes.
  std::string errors;
  bool cancelled = false;
  bool too_much_output = false;
};

// Waits for the end of the child. When cancelled, ends the child and all
// processes of its process group. Does not wait for processes that the child
// leaves in the background. Error: the child could not be started.
absl::StatusOr<ChildEnd> RunChild(const ChildOrder& order,
                                  Cancellation& cancellation);

}  // namespace actord::client
