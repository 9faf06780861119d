#include "client/top/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace actord::client::top {
namespace {

// The alternate screen, no cursor, no line that goes on in the next one.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr std::array kFatal = {SIGHUP, SIGQUIT, SIGABRT, SIGSEGV,
                               SIGBUS, SIGFPE,  SIGILL};
constexpr std::array kWaking = {SIGWINCH, SIGCONT};

// A process has one terminal, and signal handlers have no arguments. Written
// before `taken` is set and while no handler is there; `taken` is exchanged, so
// that one of several who restore it does.
struct Taken {
  int in_fd = -1;
  int out_fd = -1;
  int wake_fd = -1;
  termios before{};
  std::atomic<bool> taken{false};
};
Taken the_terminal;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void OnWake(int /*signal*/) {
  const int error = errno;
  const char byte = 0;
  // A full pipe says the same already.
  [[maybe_unused]] const ssize_t written =
      write(the_terminal.wake_fd, &byte, 1);
  errno = error;
}

extern "C" void OnFatal(int signal) {
  RestoreTerminal();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void Catch(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// As if it were not caught, but for the terminal. The system stops nobody whom
// no shell could let go on: then this returns at once.
extern "C" void OnStop(int /*signal*/) {
  const int error = errno;
  RestoreTerminal();
  Catch(SIGTSTP, SIG_DFL);
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &before);
  raise(SIGTSTP);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Catch(SIGTSTP, OnStop);
  OnWake(0);
  errno = error;
}

template <typename Signals>
void CatchAll(const Signals& signals, void (*handler)(int)) {
  for (const int signal : signals) Catch(signal, handler);
}

}  // namespace

void RestoreTerminal() {
  if (!the_terminal.taken.exchange(false)) return;
  // In the background it belongs to somebody else.
  const pid_t foreground = tcgetpgrp(the_terminal.in_fd);
  if (foreground != -1 && foreground != getpgrp()) return;
  [[maybe_unused]] const ssize_t written =
      write(the_terminal.out_fd, kLeave.data(), kLeave.size());
  tcsetattr(the_terminal.in_fd, TCSANOW, &the_terminal.before);
}

absl::StatusOr<std::unique_ptr<Terminal>> Terminal::Open(int in_fd,
                                                         int out_fd) {
  termios before{};
  if (isatty(out_fd) != 1 || tcgetattr(in_fd, &before) != 0) {
    return absl::FailedPreconditionError("there is no terminal");
  }
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_NONBLOCK | O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pipe");
  }
  the_terminal.in_fd = in_fd;
  the_terminal.out_fd = out_fd;
  the_terminal.wake_fd = pipe[1];
  the_terminal.before = before;
  auto terminal =
      std::unique_ptr<Terminal>(new Terminal(out_fd, pipe[0], pipe[1]));
  terminal->CatchSignals();
  const absl::Status entered = terminal->Enter();
  if (!entered.ok()) return entered;
  return terminal;
}

Terminal::Terminal(int out_fd, int wake_read_fd, int wake_write_fd)
    : out_fd_(out_fd),
      wake_read_fd_(wake_read_fd),
      wake_write_fd_(wake_write_fd) {}

Terminal::~Terminal() {
  RestoreTerminal();
  CatchAll(kFatal, SIG_DFL);
  CatchAll(kWaking, SIG_DFL);
  Catch(SIGTSTP, SIG_DFL);
  close(wake_read_fd_);
  close(wake_write_fd_);
}

void Terminal::CatchSignals() {
  CatchAll(kFatal, OnFatal);
  CatchAll(kWaking, OnWake);
  Catch(SIGTSTP, OnStop);
}

absl::Status Terminal::Enter() {
  termios raw = the_terminal.before;
  cfmakeraw(&raw);
  // Set before the terminal is changed: whoever restores too much does no harm.
  the_terminal.taken.store(true);
  if (tcsetattr(the_terminal.in_fd, TCSANOW, &raw) != 0) {
    return absl::ErrnoToStatus(errno, "cannot set the terminal");
  }
  return Write(std::string(kEnter));
}

absl::Status Terminal::Resume() {
  std::array<char, 64> bytes{};
  while (read(wake_read_fd_, bytes.data(), bytes.size()) > 0) {
  }
  return the_terminal.taken.load() ? absl::OkStatus() : Enter();
}

void Terminal::Suspend() {
  // All of the job, as the terminal's own driver would.
  kill(0, SIGTSTP);
}

Size Terminal::size() const {
  winsize size{};
  if (ioctl(out_fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
      size.ws_row == 0) {
    return {};
  }
  return {.width = size.ws_col, .height = size.ws_row};
}

absl::Status Terminal::Write(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written =
        write(out_fd_, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {
      pollfd ready = {.fd = out_fd_, .events = POLLOUT, .revents = 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "cannot write to the terminal");
    }
  }
  return absl::OkStatus();
}

}  // namespace actord::client::top
