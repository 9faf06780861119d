// The terminal that a full-screen view has for itself, for a while.
//
// Plain termios and the escape sequences of ECMA-48, which every terminal of
// the last decades knows, rather than ncurses: a frame is laid out as lines of
// text anyway, so that tests can see it, and what is left of the work is too
// little for another library in every image.
//
// The terminal is as it was when the object is gone, when the program is ended
// or stopped by a signal (other than SIGKILL and SIGSTOP), and when it crashes.
//
// Thread-safety: for one thread; RestoreTerminal for any. One object at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/top/frame.h"

namespace actord::client::top {

class Terminal {
 public:
  // Takes the keys from `in_fd` and writes to `out_fd`; both are borrowed, and
  // must be of the same terminal. FAILED_PRECONDITION: one is none.
  static absl::StatusOr<std::unique_ptr<Terminal>> Open(int in_fd, int out_fd);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // As it is now; 80 by 24 if the terminal does not say.
  [[nodiscard]] Size size() const;
  // All of it. Waits while the terminal takes nothing.
  absl::Status Write(const std::string& bytes);
  // Drops what was typed and is not read yet.
  void DropInput();

  // Readable when the size has changed, or the program goes on after a stop:
  // then Resume is to be called, and everything to be drawn anew.
  [[nodiscard]] int changed_fd() const { return wake_read_fd_; }
  // The program has been stopped: nothing is to be drawn before Resume.
  [[nodiscard]] bool lost() const;
  absl::Status Resume();
  // As Ctrl-Z does to other programs: returns when it goes on.
  void Suspend();

 private:
  Terminal(int out_fd, int wake_read_fd, int wake_write_fd);
  absl::Status Enter();
  void CatchSignals();

  const int out_fd_;
  const int wake_read_fd_;
  const int wake_write_fd_;
};

// Gives the terminal back if a Terminal has it; for the moment before _exit().
// Safe in signal handlers.
void RestoreTerminal();

}  // namespace actord::client::top
