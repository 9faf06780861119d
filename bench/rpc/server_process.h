// A server program that runs for the duration of a benchmark.
//
// Thread-safety: one thread. Ownership: owns the child process and its
// directory. The child is killed when its parent's thread ends in any way.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace actord::bench {

class ServerProcess {
 public:
  // Starts `program` with `arguments` and the path of a port file, and waits
  // until the program has written its port there. Fails, and so ends the
  // benchmark, after ten seconds. No other thread may be running yet, because
  // the child is created by fork.
  ServerProcess(const std::string& program, std::vector<std::string> arguments);
  // Sends SIGTERM and waits for the end of the child.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // "127.0.0.1:port".
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Time from the start until the port was there.
  [[nodiscard]] double start_seconds() const { return start_seconds_; }
  // Processor time of the child so far.
  [[nodiscard]] double CpuSeconds() const;

 private:
  void Spawn(const std::string& program,
             const std::vector<std::string>& arguments);
  void AwaitPort();

  std::string directory_;
  std::string port_file_;
  std::string address_;
  pid_t pid_ = -1;
  double start_seconds_ = 0;
};

}  // namespace actord::bench
