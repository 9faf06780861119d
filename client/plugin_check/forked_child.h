// A child process that runs a function apart from the memory of this program.
// Code of plugins may crash the child, or never return.
//
// The child's standard output is the standard error of this program. Its
// standard input is empty. The child ends when this program ends.
//
// Thread-safety: one thread at a time, which outlives the child. No other
// thread may hold a lock that the function needs. Ownership: the destructor
// ends the child.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"
#include "client/plugin_check/frames.h"

namespace actord::client {

class ForkedChild {
 public:
  // `run` gets the child's end of a socket pair. The child ends when `run`
  // returns.
  static absl::StatusOr<std::unique_ptr<ForkedChild>> Start(
      absl::FunctionRef<void(FrameSocket& socket)> run);
  ~ForkedChild();
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  // If the child has ended, the next Receive returns UNAVAILABLE.
  void Send(std::string_view message);
  // Waits for the next message. Errors: those of FrameSocket::Receive.
  absl::StatusOr<std::string> Receive(absl::Time deadline,
                                      const Cancellation* cancellation);

  // How the child has ended. `what_ran`: the text of its frame of the kind
  // kCrash; empty: there was none.
  struct End {
    int signal = 0;  // 0: no signal ended the child
    int exit_status = 0;
    std::string what_ran = {};
  };
  // Waits for the end of a child that closes its socket. Kills the child after
  // `patience`.
  End Await(absl::Duration patience);
  // Lets the child report the code that runs, and ends the child.
  End Abort();

 private:
  ForkedChild(pid_t pid, int fd) : pid_(pid), socket_(fd) {}

  pid_t pid_;  // 0: it has ended
  FrameSocket socket_;
  std::string what_ran_;
};

// "SIGSEGV".
std::string SignalName(int signal);

}  // namespace actord::client
