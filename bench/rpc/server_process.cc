#include "bench/rpc/server_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace actord::bench {

ServerProcess::ServerProcess(const std::string& program,
                             std::vector<std::string> arguments) {
  std::string directory =
      (std::filesystem::temp_directory_path() / "actord-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    Fail("cannot make a temporary directory");
  }
  directory_ = directory;
  port_file_ = directory_ + "/port";
  arguments.insert(arguments.begin(), program);
  arguments.push_back(port_file_);
  const Stopwatch stopwatch;
  Spawn(program, arguments);
  AwaitPort();
  start_seconds_ = stopwatch.Seconds();
}

void ServerProcess::Spawn(const std::string& program,
                          const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) Fail("cannot start a process");
  if (pid_ > 0) return;
  // In the child, which must not outlive a failing benchmark.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) execv(program.c_str(), argv.data());
  _exit(127);
}

void ServerProcess::AwaitPort() {
  constexpr double kPatienceSeconds = 10;
  const Stopwatch stopwatch;
  while (stopwatch.Seconds() < kPatienceSeconds) {
    int port = 0;
    if (std::ifstream(port_file_) >> port) {
      address_ = absl::StrCat("127.0.0.1:", port);
      return;
    }
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      Fail("a server ended instead of serving");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  Fail("a server does not serve");
}

double ServerProcess::CpuSeconds() const {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(pid_, &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    Fail("cannot read the processor time of a server");
  }
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  // A file that stays in /tmp does no harm.
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  const bool by_signal = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
  const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!by_signal && !clean) Fail("a server did not end well");
}

}  // namespace actord::bench
