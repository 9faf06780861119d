// A server program that is started for a benchmark and ended after it.
//
// Thread-safety: one thread. Ownership: owns the child process and its
// directory; the child is killed with its parent's thread, however that ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace actord::bench {

class ServerProcess {
 public:
  // Starts `program` and waits until it has written its port; the arguments
  // are `arguments` and then the path where it has to. Fails, and so ends the
  // benchmark, if it does not within ten seconds. No other thread may be
  // running yet: the child is made by fork.
  ServerProcess(const std::string& program, std::vector<std::string> arguments);
  // Asks it to end by SIGTERM and waits until it has.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // "127.0.0.1:port".
  [[nodiscard]] const std::string& address() const { return address_; }
  // From its start until its port was there.
  [[nodiscard]] double start_seconds() const { return start_seconds_; }
  // Processor time that it has used up to now.
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
