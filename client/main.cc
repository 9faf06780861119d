// actorctl: see app.h. This file holds the parts that depend on the operating
// system.

#include <grpc/support/log.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "client/app.h"
#include "client/calls/cancellation.h"
#include "client/top/terminal.h"

namespace {

using actord::client::ExitStatus;

int TerminalWidth() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

// The first signal cancels the command; the second signal ends the program at
// once.
void WatchSignals(sigset_t signals,
                  actord::client::Cancellation& cancellation) {
  int signal = 0;
  sigwait(&signals, &signal);
  cancellation.Cancel();
  sigwait(&signals, &signal);
  actord::client::top::RestoreTerminal();
  _exit(static_cast<int>(ExitStatus::kInterrupted));
}

// gRPC logs a failed handshake, and the error of the call says the same.
void LogGrpc(gpr_log_func_args* arguments) {
  if (arguments->severity != GPR_LOG_SEVERITY_ERROR) return;
  const std::string_view message = arguments->message;
  if (message.starts_with("Handshake failed")) return;
  std::cerr << "grpc: " + std::string(message) + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  // Off, because the lock-order detector of Debian's Abseil can abort the
  // program.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::ios::sync_with_stdio(false);
  gpr_set_log_function(LogGrpc);

  // Blocked before there is a second thread, so that only the watching thread
  // receives the signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Never destroyed, because the watching thread uses it until the program
  // ends.
  auto& cancellation = *new actord::client::Cancellation;
  std::thread(WatchSignals, signals, std::ref(cancellation)).detach();

  const actord::client::Environment environment = {
      .stdin_fd = STDIN_FILENO,
      .out = std::cout,
      .err = std::cerr,
      .cancellation = cancellation,
      .out_is_terminal = isatty(STDOUT_FILENO) == 1,
      .err_is_terminal = isatty(STDERR_FILENO) == 1,
      .terminal_width = TerminalWidth(),
      .variable =
          [](const char* name) {
            const char* value = std::getenv(name);
            return std::string(value == nullptr ? "" : value);
          },
  };
  return static_cast<int>(RunActorctl(
      std::vector<std::string>(argv + 1, argv + argc), environment));
}
