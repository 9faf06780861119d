// The composition root: builds everything in order, and ends it in order.
//
// Thread-safety: RequestShutdown may be called from any thread, Reload from one
// at a time while it serves; Open, Run and the destructor are for one thread.
// Ownership: owns all there is, borrows the logger.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/calls/actor_service.h"
#include "daemon/calls/call_gate.h"
#include "daemon/exit_status.h"
#include "daemon/log/logging.h"
#include "daemon/operations/exit_deadline.h"
#include "daemon/operations/idempotency.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/plugins/plugin_loading.h"
#include "daemon/port_file.h"
#include "daemon/rpc_server.h"
#include "daemon/settings/config.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class Daemon {
 public:
  // Nothing has begun yet, but RequestShutdown may be called. `check` decides
  // which calls the service refuses (call_gate.h); null: none.
  static std::unique_ptr<Daemon> Create(const Config& config, Logger& logger,
                                        CallCheck check = nullptr);
  // Serves when it returns, unless a shutdown was requested while the boot tree
  // was starting: then Run ends what has begun. For errors see ExitStatusOf;
  // with one whose processes do not return this ends the program, with that
  // status.
  absl::Status Open();
  [[nodiscard]] bool serves() const { return server_ != nullptr; }
  // Both.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(
      const Config& config, Logger& logger, CallCheck check = nullptr);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until somebody wants the daemon to end, and ends it:
  //  1. health says NOT_SERVING;
  //  2. the runtime refuses new processes and brings all there are to their
  //     end, which answers every open Submit and Await;
  //  3. the Shutdown calls are answered;
  //  4. the port file goes, and streams end when they have told everything;
  //  5. the service refuses whatever comes for a moment longer, and a plugin
  //     that is being loaded has time to return;
  //  6. the server stops, and breaks off after a second what is still open
  //     (a watched health status, say).
  // If steps do not return, this ends the program with kExitDrainTimeout. If
  // any of that takes longer than the timeouts allow (shutdown_control.h), the
  // deadline ends the program, with the status that Run would have returned as
  // far as that is known.
  ExitStatus Run();

  // Puts in force what of `fresh` can be changed in a daemon that runs, and
  // logs what has changed, and what is not as `fresh` says until a restart.
  void Reload(const Config& fresh);

  void RequestShutdown(runtime::ShutdownMode mode);

  [[nodiscard]] const std::vector<std::string>& addresses() const {
    return server_->addresses();
  }
  [[nodiscard]] const std::vector<int>& ports() const {
    return server_->ports();
  }

 private:
  Daemon(const Config& config, Logger& logger, CallCheck check);
  absl::Status OpenAll();
  absl::Status StartRuntime();
  absl::Status StartServer();
  // With what Reload has changed since the start.
  [[nodiscard]] Config InForce() const;
  ShutdownControl::Result EndProcesses();
  // Ends what a start that failed has begun; the program too, if some of it
  // does not return.
  void EndFailedStart(const absl::Status& why);
  void LogStuck(uint64_t count);
  // Ends the program when what was logged is written.
  [[noreturn]] void Exit(ExitStatus status);
  // How far the daemon is. Of use when the deadline has passed.
  enum class Phase { kStart, kProcesses, kCalls };
  void Enter(Phase phase, ExitStatus status);
  // The deadline has passed.
  [[noreturn]] void Expire();

  const Config config_;  // of the start
  Logger& logger_;
  const CallCheck check_;

  // While it is held, the runtime stays in kProcesses.
  absl::Mutex phase_mutex_;
  Phase phase_ ABSL_GUARDED_BY(phase_mutex_) = Phase::kStart;
  ExitStatus expired_status_ ABSL_GUARDED_BY(phase_mutex_) = kExitDrainTimeout;
  ExitDeadline deadline_;  // goes last: ends what does not

  // In the order in which they are built. What is below refers to what is
  // above, so the code of the plugins goes last.
  LoadedPlugins plugins_;
  runtime::Catalog catalog_;
  std::unique_ptr<runtime::Runtime> runtime_;
  RequestIds request_ids_;
  RequestIds message_ids_;
  ShutdownControl shutdown_;
  std::unique_ptr<PluginLoading> plugin_loading_;  // null: there is no service
  std::unique_ptr<ActorService> service_;
  RpcServer::Reservation reservation_;  // until the server has it
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<PortFile> port_file_;  // null: none is wanted
  bool ended_ = false;                   // all processes have, or are given up
};

}  // namespace actord::daemon
