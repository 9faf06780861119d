// Tests the built program: exit statuses, signals and streams as a shell sees
// them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "tests/client/cli/cli_run.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// A child that runs actorctl. `out_fd` -1: its output is captured.
class Program {
 public:
  Program(std::vector<std::string> arguments, const std::string& address,
          int stdin_fd, int out_fd = -1)
      : out_(""), err_("") {
    arguments.insert(arguments.begin(), ACTORD_TEST_BIN_DIR "/actorctl");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    dup2(stdin_fd, STDIN_FILENO);
    dup2(out_fd < 0 ? out_.fd() : out_fd, STDOUT_FILENO);
    dup2(err_.fd(), STDERR_FILENO);
    setenv("ACTORD_ADDRESS", address.c_str(), 1);
    execv(argv[0], argv.data());
    _exit(127);
  }

  void Signal(int signal) const { kill(pid_, signal); }
  // The exit status, or 1000 + the number of the signal that ended the program.
  int Wait() const {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::string out() const { return Content(out_.path()); }
  std::string err() const { return Content(err_.path()); }

 private:
  static std::string Content(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string content(1 << 16, '\0');
    content.resize(read(fd, content.data(), content.size()));
    close(fd);
    return content;
  }

  TemporaryFile out_;
  TemporaryFile err_;
  pid_t pid_ = -1;
};

TEST(Actorctl, PassesBytesThrough) {
  const FakeDaemon daemon;
  std::string bytes(1000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  const TemporaryFile input(bytes);
  const Program program({"submit", "echo", "-", "--wait"}, daemon.address(),
                        input.fd());
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.out(), bytes);
  EXPECT_EQ(program.err(), "");
}

TEST(Actorctl, ExitsAsDocumented) {
  const FakeDaemon daemon;
  const TemporaryFile empty("");
  const auto exit_status = [&](std::vector<std::string> arguments) {
    return Program(std::move(arguments), daemon.address(), empty.fd()).Wait();
  };
  EXPECT_EQ(exit_status({"submit", "echo"}), 0);
  EXPECT_EQ(exit_status({"submit", "fail", "--wait"}), 1);
  EXPECT_EQ(exit_status({"bogus"}), 2);
  EXPECT_EQ(exit_status({"submit", "nothing"}), 3);
  EXPECT_EQ(exit_status({"submit", "forbid"}), 4);
  EXPECT_EQ(exit_status({"submit", "drain"}), 5);
  EXPECT_EQ(exit_status({"submit", "never", "--wait", "--timeout", "50ms"}), 6);
}

TEST(Actorctl, ExitsWith130WhenInterrupted) {
  const FakeDaemon daemon;
  const TemporaryFile empty("");
  for (const int signal : {SIGINT, SIGTERM}) {
    const size_t before = daemon.log().awaits_cancelled;
    const Program program({"submit", "never", "--wait"}, daemon.address(),
                          empty.fd());
    ASSERT_TRUE(daemon.WaitForOpenAwaits(1));
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), 130);
    // The process continues, so actorctl prints its PID.
    EXPECT_THAT(program.err(),
                MatchesRegex("actorctl: process p-[01]: interrupted\n"));
    // The daemon sees that the await was cancelled.
    for (int i = 0; i < 30'000 && daemon.log().awaits_cancelled == before;
         ++i) {
      usleep(1000);
    }
    EXPECT_EQ(daemon.log().awaits_cancelled, before + 1);
  }
}

TEST(Actorctl, StopsReadingWhenInterrupted) {
  const FakeDaemon daemon;
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  // After two items the pipe stays open and nothing more comes.
  ASSERT_EQ(write(fds[1], "{}\n{}\n", 6), 6);
  const Program program({"submit", "never", "--from-file", "-", "--wait"},
                        daemon.address(), fds[0]);
  ASSERT_TRUE(daemon.WaitForOpenAwaits(2));
  program.Signal(SIGINT);
  EXPECT_EQ(program.Wait(), 130);
  close(fds[0]);
  close(fds[1]);
}

TEST(Actorctl, ReportsFailedWrites) {
  const FakeDaemon daemon;
  const TemporaryFile empty("");
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const Program program({"submit", "echo"}, daemon.address(), empty.fd(), full);
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.err(), HasSubstr("cannot write to standard output"));
  close(full);
}

}  // namespace
}  // namespace actord::client
