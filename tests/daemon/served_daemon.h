// A daemon in this process, on a free port, with the example plugins.
//
// Thread-safety: the test's thread alone. The destructor stops the daemon.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "actord/v1/actor_service.grpc.pb.h"
#include "daemon/calls/call_gate.h"
#include "daemon/daemon.h"

namespace actord::daemon {

// How long a test waits. Only a failing test reaches this limit.
inline constexpr std::chrono::seconds kPatience{30};

class ServedDaemon {
 public:
  // `check`: see call_gate.h.
  explicit ServedDaemon(const Config& config = Defaults(),
                        CallCheck check = nullptr);
  ~ServedDaemon();

  // Port 0; the plugins echo, counter and order; payment.* is external; nothing
  // is logged.
  static Config Defaults();

  [[nodiscard]] v1::ActorService::Stub& stub() { return *stub_; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() {
    return channel_;
  }
  [[nodiscard]] Daemon& daemon() { return *daemon_; }
  [[nodiscard]] Logger& logger() { return logger_; }

  // Waits for the end of Daemon::Run and returns its status.
  ExitStatus WaitForExit();

  // Submits a process and returns its PID. Fails the test if the submission
  // fails.
  std::string Submit(const std::string& type, const std::string& input = "",
                     const std::string& method = "");
  // Waits for the end of the process and returns the outcome. Fails the test if
  // the outcome does not come.
  v1::Outcome Await(const std::string& pid);
  // Begins the same wait. The call is sent before BeginAwait returns, so it
  // precedes every later call.
  std::future<v1::Outcome> BeginAwait(const std::string& pid);
  // Submits an order that waits for its payment and that a cancel does not end.
  std::string SubmitStubbornOrder();

 private:
  Logger logger_;
  std::unique_ptr<Daemon> daemon_;
  std::future<ExitStatus> exit_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ActorService::Stub> stub_;
};

// The reason in a status's details; "" if there is none.
std::string ReasonIn(const grpc::Status& status);
// The PID in a status's details; "" if there is none.
std::string PidIn(const grpc::Status& status);
// The field in a status's details; "" if there is none.
std::string FieldIn(const grpc::Status& status);

}  // namespace actord::daemon
