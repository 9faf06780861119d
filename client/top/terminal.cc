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

// The alternate screen, no cursor, no line wrap, and marks around pasted text.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h";
constexpr std::string_view kLeave =
    "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

// All signals that end a program without a handler, except SIGINT and SIGTERM,
// which end the command in order, and SIGPIPE, which the output may cause.
constexpr std::array kFatal = {SIGHUP,  SIGQUIT,   SIGILL,  SIGTRAP,   SIGABRT,
                               SIGBUS,  SIGFPE,    SIGUSR1, SIGSEGV,   SIGUSR2,
                               SIGALRM, SIGXCPU,   SIGXFSZ, SIGVTALRM, SIGPROF,
                               SIGPOLL, SIGSTKFLT, SIGPWR,  SIGSYS};
constexpr std::array kWaking = {SIGWINCH, SIGCONT};
// A terminal that accepts nothing for this long is left as it is.
constexpr int kLeaveMs = 100;

// Global, because a process has one terminal and signal handlers have no
// arguments. Written before `taken` is set and while no handler is installed.
// `taken` is exchanged, so that only one of several threads restores the
// terminal.
struct Taken {
  int in_fd = -1;
  int out_fd = -1;
  int wake_fd = -1;
  termios before{};
  std::atomic<bool> taken{false};
  // The program was stopped: others may have changed the terminal meanwhile.
  std::atomic<bool> continued{false};
  // The earlier actions of the caught signals.
  std::array<struct sigaction, NSIG> actions{};
  std::array<bool, NSIG> caught{};
  // A stack for the handlers of a program that has used up its own.
  std::array<char, 64 * 1024> stack{};
  bool has_stack = false;
};
Taken the_terminal;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void OnWake(int signal) {
  if (signal != SIGWINCH) the_terminal.continued.store(true);
  const int error = errno;
  const char byte = 0;
  // A full pipe is readable already.
  [[maybe_unused]] const ssize_t written =
      write(the_terminal.wake_fd, &byte, 1);
  errno = error;
}

extern "C" void OnFatal(int signal) {
  RestoreTerminal();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void Set(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | (handler == OnFatal ? SA_ONSTACK : 0);
  sigaction(signal, &action, nullptr);
}

void Catch(int signal, void (*handler)(int)) {
  struct sigaction& before = the_terminal.actions.at(signal);
  sigaction(signal, nullptr, &before);
  // An ignored signal (after nohup, for example) stays ignored.
  if (handler == OnFatal && before.sa_handler == SIG_IGN) return;
  the_terminal.caught.at(signal) = true;
  Set(signal, handler);
}

void UseOwnStack() {
  stack_t before{};
  if (sigaltstack(nullptr, &before) != 0 || before.ss_flags != SS_DISABLE) {
    // A Terminal exists.
    return;
  }
  stack_t stack{};
  stack.ss_sp = the_terminal.stack.data();
  stack.ss_size = the_terminal.stack.size();
  the_terminal.has_stack = sigaltstack(&stack, nullptr) == 0;
}

void GiveBackSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (!std::exchange(the_terminal.caught.at(signal), false)) continue;
    sigaction(signal, &the_terminal.actions.at(signal), nullptr);
  }
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (std::exchange(the_terminal.has_stack, false)) sigaltstack(&none, nullptr);
}

// Stops the program as if the signal were not caught, but restores the terminal
// first. The system does not stop a program that no shell could continue; then
// this returns at once.
extern "C" void OnStop(int /*signal*/) {
  const int error = errno;
  RestoreTerminal();
  Set(SIGTSTP, SIG_DFL);
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &before);
  raise(SIGTSTP);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Set(SIGTSTP, OnStop);
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
  // In the background the terminal belongs to another program.
  const pid_t foreground = tcgetpgrp(the_terminal.in_fd);
  if (foreground != -1 && foreground != getpgrp()) return;
  // First the part that cannot block.
  tcsetattr(the_terminal.in_fd, TCSANOW, &the_terminal.before);
  pollfd ready = {.fd = the_terminal.out_fd, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, kLeaveMs) <= 0) return;
  [[maybe_unused]] const ssize_t written =
      write(the_terminal.out_fd, kLeave.data(), kLeave.size());
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
  GiveBackSignals();
  close(wake_read_fd_);
  close(wake_write_fd_);
}

void Terminal::CatchSignals() {
  UseOwnStack();
  CatchAll(kFatal, OnFatal);
  CatchAll(kWaking, OnWake);
  Catch(SIGTSTP, OnStop);
}

absl::Status Terminal::Enter() {
  termios raw = the_terminal.before;
  cfmakeraw(&raw);
  // Set before the terminal is changed: an unneeded restore does no harm.
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
  if (!lost()) return absl::OkStatus();
  the_terminal.continued.store(false);
  return Enter();
}

bool Terminal::lost() const {
  return !the_terminal.taken.load() || the_terminal.continued.load();
}

void Terminal::Suspend() {
  // Stops the whole job, as the terminal's driver would.
  kill(0, SIGTSTP);
}

void Terminal::DropInput() { tcflush(the_terminal.in_fd, TCIFLUSH); }

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
