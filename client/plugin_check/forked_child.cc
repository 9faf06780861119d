#include "client/plugin_check/forked_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"

namespace actord::client {
namespace {

absl::Status CallError(const char* call) {
  return absl::InternalError(std::string(call) + ": " +
                             std::generic_category().message(errno));
}

// Runs in the child: closes every descriptor but the socket and standard error.
void CloseOthers(int socket) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto kept = static_cast<unsigned>(socket);
  if (kept > 3) close_range(3, kept - 1, 0);
  close_range(kept + 1, ~0U, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ForkedChild>> ForkedChild::Start(
    absl::FunctionRef<void(FrameSocket& socket)> run) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return CallError("socketpair");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    absl::Status status = CallError("fork");
    close(ends[0]);
    close(ends[1]);
    return status;
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before prctl().
    if (getppid() != parent) _exit(1);
    CloseOthers(ends[1]);
    {
      FrameSocket socket(ends[1]);
      run(socket);
    }
    // No destructor of this program runs a second time.
    _exit(0);
  }
  close(ends[1]);
  return std::unique_ptr<ForkedChild>(new ForkedChild(pid, ends[0]));
}

ForkedChild::~ForkedChild() {
  if (pid_ != 0) Await(absl::ZeroDuration());
}

void ForkedChild::Send(std::string_view message) {
  socket_.Send(FrameKind::kMessage, message).IgnoreError();
}

absl::StatusOr<std::string> ForkedChild::Receive(
    absl::Time deadline, const Cancellation* cancellation) {
  for (;;) {
    absl::StatusOr<Frame> frame = socket_.Receive(deadline, cancellation);
    if (!frame.ok()) return frame.status();
    if (frame->kind == FrameKind::kMessage) return std::move(frame->bytes);
    what_ran_ = std::move(frame->bytes);
  }
}

ForkedChild::End ForkedChild::Await(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  absl::StatusOr<std::string> left = Receive(deadline, nullptr);
  while (left.ok()) left = Receive(deadline, nullptr);
  // The child ends by itself once its socket is closed.
  if (!absl::IsUnavailable(left.status())) kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  End end{.what_ran = what_ran_};
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  return end;
}

ForkedChild::End ForkedChild::Abort() {
  // The child's handler of SIGABRT reports the code that runs.
  kill(pid_, SIGABRT);
  return Await(absl::Seconds(1));
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal)
                         : std::string("SIG") + name;
}

}  // namespace actord::client
