// Reserves the terminal for a full-screen view.
//
// Uses plain termios and the escape sequences of ECMA-48, which every terminal
// of the last decades knows, rather than ncurses. A frame is laid out as lines
// of text anyway, so that tests can read it. The remaining work does not
// justify another library in every image.
//
// Restores the terminal when the object is destroyed, when a signal (other than
// SIGKILL and SIGSTOP) ends or stops the program, and when the program crashes.
//
// Thread-safety: for one thread; RestoreTerminal for any thread. At most one
// object at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/top/frame.h"

namespace actord::client::top {

class Terminal {
 public:
  // Reads keys from `in_fd` and writes to `out_fd`; both are borrowed and must
  // be the same terminal. FAILED_PRECONDITION: one of them is not a terminal.
  static absl::StatusOr<std::unique_ptr<Terminal>> Open(int in_fd, int out_fd);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The current size; 80 by 24 if the terminal does not report one.
  [[nodiscard]] Size size() const;
  // Writes all bytes. Waits while the terminal accepts nothing.
  absl::Status Write(const std::string& bytes);
  // Drops typed bytes that were not read yet.
  void DropInput();

  // Readable when the size has changed, or the program continues after a stop.
  // Then call Resume and redraw everything.
  [[nodiscard]] int changed_fd() const { return wake_read_fd_; }
  // The program was stopped: draw nothing before Resume.
  [[nodiscard]] bool lost() const;
  absl::Status Resume();
  // Stops the program as Ctrl-Z stops others; returns when it continues.
  void Suspend();

 private:
  Terminal(int out_fd, int wake_read_fd, int wake_write_fd);
  absl::Status Enter();
  void CatchSignals();

  const int out_fd_;
  const int wake_read_fd_;
  const int wake_write_fd_;
};

// Restores the terminal if a Terminal has changed it; for the moment before
// _exit(). Safe in signal handlers.
void RestoreTerminal();

}  // namespace actord::client::top
