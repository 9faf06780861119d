// A daemon in this process, on a free port, with the example plugins.
//
// Thread-safety: for the test's thread. Stops when destroyed.
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

// How long a test waits; only reached when something is wrong.
inline constexpr std::chrono::seconds kPatience{30};

class ServedDaemon {
 public:
  // `check` as in call_gate.h.
  explicit ServedDaemon(const Config& config = Defaults(),
                        CallCheck check = nullptr);
  ~ServedDaemon();

  // Port 0, the plugins echo, counter and order, payment.* external, no log.
  static Config Defaults();

  [[nodiscard]] v1::ActorService::Stub& stub() { return *stub_; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() {
    return channel_;
  }
  [[nodiscard]] Daemon& daemon() { return *daemon_; }
  [[nodiscard]] Logger& logger() { return logger_; }

  // What Run returned; waits for it.
  ExitStatus WaitForExit();

  // The PID of a new process; fails the test if there is none.
  std::string Submit(const std::string& type, const std::string& input = "",
                     const std::string& method = "");
  // How it ended; fails the test if that does not come.
  v1::Outcome Await(const std::string& pid);
  // Likewise, for later. The call is on its way when this returns, before any
  // that is made then.
  std::future<v1::Outcome> BeginAwait(const std::string& pid);
  // An order that waits for its payment, which a cancel does not end.
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
// The field that it complains about.
std::string FieldIn(const grpc::Status& status);

}  // namespace actord::daemon
