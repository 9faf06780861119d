#include "client/cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "identity/descriptor.h"

extern char** environ;

namespace actord::client {
namespace {

using identity::Descriptor;

constexpr size_t kKeptErrorBytes = 4096;

absl::Status SystemError(const char* what, int error) {
  return absl::InternalError(std::string(what) + ": " +
                             std::generic_category().message(error));
}

struct Pipe {
  Descriptor read;
  Descriptor write;
};

absl::StatusOr<Pipe> OpenPipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("pipe", errno);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void SetNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// One running child process.
class Child {
 public:
  absl::Status Start(const ChildOrder& order);
  ChildEnd Attend(const ChildOrder& order, Cancellation& cancellation);

 private:
  absl::Status Spawn(const ChildOrder& order, const Pipe& in, const Pipe& out,
                     const Pipe& err);
  void Write(const std::string& input);
  // Reads available output. False: nothing is available. Closes the pipe at its
  // end.
  bool Read(Descriptor& from, std::string& to);
  void Signal(int signal) const { kill(-pid_, signal); }

  pid_t pid_ = 0;
  // Readable when the child has exited.
  Descriptor exited_;
  Descriptor in_;
  Descriptor out_;
  Descriptor err_;
  size_t written_ = 0;
};

absl::Status Child::Spawn(const ChildOrder& order, const Pipe& in,
                          const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write.get(), STDERR_FILENO);
  // The child gets its own process group, and no signal blocked.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> variables;
  for (const std::string& variable : order.environment) {
    variables.push_back(const_cast<char*>(variable.c_str()));
  }
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  std::string shell = "sh";
  std::string option = "-c";
  std::string command = order.command;
  std::array<char*, 4> arguments = {shell.data(), option.data(), command.data(),
                                    nullptr};
  const int error = posix_spawn(&pid_, "/bin/sh", &files, &attributes,
                                arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? absl::OkStatus() : SystemError("/bin/sh", error);
}

absl::Status Child::Start(const ChildOrder& order) {
  auto in = OpenPipe();
  auto out = OpenPipe();
  auto err = OpenPipe();
  for (const auto* pipe : {&in, &out, &err}) {
    if (!pipe->ok()) return pipe->status();
  }
  absl::Status status = Spawn(order, *in, *out, *err);
  if (!status.ok()) return status;
  exited_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!exited_.is_open()) {
    status = SystemError("pidfd_open", errno);
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    return status;
  }
  in_ = std::move(in->write);
  out_ = std::move(out->read);
  err_ = std::move(err->read);
  for (const Descriptor* end : {&in_, &out_, &err_}) SetNonBlocking(end->get());
  return absl::OkStatus();
}

void Child::Write(const std::string& input) {
  while (written_ < input.size()) {
    const ssize_t count =
        write(in_.get(), input.data() + written_, input.size() - written_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    // The child does not read the rest.
    if (count < 0) break;
    written_ += static_cast<size_t>(count);
  }
  in_ = Descriptor();
}

bool Child::Read(Descriptor& from, std::string& to) {
  std::array<char, 16384> piece;
  const ssize_t count = read(from.get(), piece.data(), piece.size());
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) return false;
  if (count <= 0) {
    from = Descriptor();
    return false;
  }
  to.append(piece.data(), static_cast<size_t>(count));
  return true;
}

ChildEnd Child::Attend(const ChildOrder& order, Cancellation& cancellation) {
  ChildEnd end;
  // The child was asked to end.
  bool asked = false;
  absl::Time force_at = absl::InfiniteFuture();
  const auto ask = [&] {
    if (std::exchange(asked, true)) return;
    Signal(SIGTERM);
    force_at = absl::Now() + order.grace;
  };
  const auto read_on = [&] {
    while (out_.is_open() && Read(out_, end.output)) {
      if (end.output.size() > order.max_output_bytes) {
        end.too_much_output = true;
        out_ = Descriptor();
        ask();
      }
    }
    while (err_.is_open() && Read(err_, end.errors)) {
      if (end.errors.size() <= kKeptErrorBytes) continue;
      end.errors.erase(0, end.errors.size() - kKeptErrorBytes);
    }
  };
  Write(order.input);
  bool exited = false;
  while (!exited) {
    // poll() ignores a descriptor of -1.
    std::array<pollfd, 5> waits = {
        {{.fd = exited_.get(), .events = POLLIN, .revents = 0},
         {.fd = asked ? -1 : cancellation.fd(), .events = POLLIN, .revents = 0},
         {.fd = in_.get(), .events = POLLOUT, .revents = 0},
         {.fd = out_.get(), .events = POLLIN, .revents = 0},
         {.fd = err_.get(), .events = POLLIN, .revents = 0}}};
    int patience_ms = -1;
    if (force_at != absl::InfiniteFuture()) {
      patience_ms = static_cast<int>(std::clamp<int64_t>(
          absl::ToInt64Milliseconds(force_at - absl::Now()) + 1, 0, 60'000));
    }
    (void)poll(waits.data(), waits.size(), patience_ms);
    if (absl::Now() >= force_at) {
      Signal(SIGKILL);
      force_at = absl::InfiniteFuture();
    }
    if (waits[1].revents != 0) {
      end.cancelled = true;
      ask();
    }
    if (in_.is_open() && waits[2].revents != 0) Write(order.input);
    exited = waits[0].revents != 0;
    read_on();
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  // If asked, kill the processes that the child started and did not wait for.
  if (asked) Signal(SIGKILL);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  return end;
}

}  // namespace

absl::StatusOr<ChildEnd> RunChild(const ChildOrder& order,
                                  Cancellation& cancellation) {
  // A child that does not read its input must not end this program.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  Child child;
  absl::Status status = child.Start(order);
  if (!status.ok()) return status;
  return child.Attend(order, cancellation);
}

}  // namespace actord::client
