// The composition root: builds all parts of the daemon in order, and ends them
// in order.
//
// Thread-safety: RequestShutdown may be called from any thread. Reload may be
// called from one thread at a time while the daemon serves. Open, Run and the
// destructor are for one thread. Ownership: owns all parts, and borrows the
// logger.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/access/access_control.h"
#include "daemon/admin/admin_pages.h"
#include "daemon/admin/admin_server.h"
#include "daemon/admin/heartbeat.h"
#include "daemon/api/json_api.h"
#include "daemon/calls/actor_service.h"
#include "daemon/calls/call_gate.h"
#include "daemon/connections/connections.h"
#include "daemon/exit_status.h"
#include "daemon/limits/limit_watch.h"
#include "daemon/links/yield_links.h"
#include "daemon/log/logging.h"
#include "daemon/operations/backup_thread.h"
#include "daemon/operations/exit_deadline.h"
#include "daemon/operations/failure_lines.h"
#include "daemon/operations/memory_return.h"
#include "daemon/operations/memory_watch.h"
#include "daemon/operations/presented_tokens.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/operations/store_watch.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/plugins/plugin_load_threads.h"
#include "daemon/port_file.h"
#include "daemon/rpc_server.h"
#include "daemon/settings/boot_tree_state.h"
#include "daemon/settings/config.h"
#include "daemon/spans/spans.h"
#include "daemon/systemd/service_reports.h"
#include "daemon/tls/peer_certificates.h"
#include "daemon/tls/server_credentials.h"
#include "daemon/tls/tls_reloader.h"
#include "runtime/durable/opened_store.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class Daemon {
 public:
  // The new daemon has started nothing, but RequestShutdown may be called.
  // `check` decides which calls the service refuses (call_gate.h); null: the
  // configured tokens decide.
  static std::unique_ptr<Daemon> Create(const Config& config, Logger& logger,
                                        CallCheck check = nullptr);
  // To be called before Open, if a service manager started the program.
  // `reports` is borrowed until the daemon is destroyed.
  void ReportBy(ServiceReports& reports) { service_reports_ = &reports; }
  // Starts the daemon, which serves when Open returns. If a shutdown was
  // requested while the boot tree was starting, the daemon does not serve, and
  // Run ends the processes that were started. ExitStatusOf explains the errors.
  // If the start fails and its processes do not return, Open ends the program
  // with the exit status of the error.
  absl::Status Open();
  [[nodiscard]] bool serves() const { return server_ != nullptr; }
  // Create, and then Open.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(
      const Config& config, Logger& logger, CallCheck check = nullptr);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until a shutdown is requested, and then ends the daemon:
  //  1. Health checks say NOT_SERVING.
  //  2. The runtime refuses new processes and ends all processes. Their ends
  //     answer every open Submit and Await.
  //  3. The Shutdown calls are answered.
  //  4. The port file is removed. Each stream ends when its output is written.
  //  5. The service refuses new calls for a moment longer. A plugin that is
  //     being loaded has time to return.
  //  6. The server stops. After one second it breaks off the calls that are
  //     still open, for example a watched health status.
  //  7. The collector of traces gets the spans that wait, within two seconds.
  // If steps do not return, Run ends the program with kExitDrainTimeout. If the
  // end takes longer than the timeouts allow (shutdown_control.h), the deadline
  // ends the program with the status that Run would have returned, as far as
  // that status is known.
  ExitStatus Run();

  // Applies the settings of `fresh` that can change while the daemon runs. Logs
  // the settings that have changed, and the settings that need a restart.
  void Reload(const Config& fresh);
  // Reads the files of TLS again.
  void ReloadTls();

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
  // Opens the store, if one is configured.
  absl::Status OpenStore();
  // Starts the runtime, and tidies the plugin files of the store.
  absl::Status StartProcesses();
  // Loads the plugin of store processes whose version is not in force.
  void LoadFormer(runtime::records::PluginNumber number);
  // Gives the owners in the store their former numbers. DATA_LOSS: the store is
  // damaged.
  absl::Status RestoreOwners();
  // The same without tokens: nobody can name the owners in the store.
  absl::Status WarnOfOwners();
  // Starts the threads that read the store for clients, if there is a store.
  absl::Status StartStoreReaders();
  // Watches the disk of the store, if there is a store.
  absl::Status StartStoreWatch();
  runtime::RuntimeOptions OptionsOfRuntime();
  // Logs the loaded plugins, and the reason if their copies are not in the
  // configured directory.
  void LogPlugins();
  absl::Status StartServer();
  absl::Status StartTls();
  // Reads or makes the key of links to yields, if it is configured.
  absl::Status OpenLinks();
  // Starts the admin port, unless it is not configured.
  absl::Status StartAdmin();
  // The pages of the admin port, and its JSON API.
  absl::StatusOr<AdminServer::Options> AdminOptions();
  // Ends the admin port. The answers of finished calls are written first.
  void StopAdmin();
  // Writes the port files that are configured. That of the service comes last:
  // its reader finds that of the admin port.
  absl::Status WritePortFiles();
  // Removes the port files, unless another daemon has replaced them.
  void RemovePortFiles();
  [[nodiscard]] Heartbeat::Beat ReadBeat() const;
  [[nodiscard]] LimitWatch::Parts PartsOfLimitWatch() const;
  [[nodiscard]] HealthReport Health() const;
  [[nodiscard]] HealthReport Readiness() const;
  [[nodiscard]] std::string Metrics(const AdminCounts& counts) const;
  // Warns of each address that strangers can reach, and of their rights there.
  void WarnOfStrangers();
  // Returns the configuration of the start with the changes of every Reload.
  [[nodiscard]] Config InForce() const;
  ShutdownControl::Result EndProcesses();
  // Ends the processes of a failed start. Ends the program if some of them do
  // not return.
  void EndFailedStart(const absl::Status& why);
  void LogStuck(uint64_t count);
  // Writes the logged lines, and ends the program.
  [[noreturn]] void Exit(ExitStatus status);
  // The progress of the daemon. It is used when the deadline has passed.
  enum class Phase { kStart, kProcesses, kCalls };
  void Enter(Phase phase, ExitStatus status);
  // Called when the deadline has passed.
  [[noreturn]] void Expire();

  const Config config_;  // the configuration of the start
  Logger& logger_;
  FailureLines failure_lines_{logger_, runtime::Clock::System()};
  const CallCheck check_;
  ServiceReports* service_reports_ = nullptr;  // null: nobody is told

  // In kProcesses the runtime exists. The daemon does not leave that phase
  // while the mutex is held, so Expire may use the runtime.
  absl::Mutex phase_mutex_;
  Phase phase_ ABSL_GUARDED_BY(phase_mutex_) = Phase::kStart;
  ExitStatus expired_status_ ABSL_GUARDED_BY(phase_mutex_) = kExitDrainTimeout;
  // Destroyed last, so that it ends the program if another destructor hangs.
  ExitDeadline deadline_;

  // These two are destroyed after the parts below, although the connections are
  // made later. So a client that is refused knows that the store is closed
  // and that the plugins are unloaded.
  RpcServer::Reservation reservation_;
  std::unique_ptr<Connections> connections_;  // null: no service

  // The parts in the order in which they are built. A part refers only to parts
  // above it, so the code of the plugins is unloaded last.
  std::unique_ptr<Spans> spans_;           // null: no traces.endpoint
  std::unique_ptr<AccessControl> access_;  // null: no tokens
  LoadedPlugins plugins_;
  runtime::Catalog catalog_;
  std::unique_ptr<runtime::OpenedStore> store_;  // null: not configured
  std::unique_ptr<KeptPlugins> kept_plugins_;    // null: there is no store
  std::unique_ptr<runtime::Runtime> runtime_;
  BootTreeState boot_tree_ = BootTreeState::kNone;
  std::unique_ptr<MemoryWatch> memory_watch_;    // null: nothing is served
  std::unique_ptr<MemoryReturn> memory_return_;  // null: nothing is served
  ShutdownControl shutdown_;
  std::unique_ptr<PluginLoadThreads> plugin_load_threads_;  // null: no service
  std::unique_ptr<HistoryThread> histories_;                // null: no store
  std::unique_ptr<TlsReloader> tls_;                        // null: no TLS
  std::unique_ptr<TlsOffer> tls_offer_;                     // null: no TLS
  // Null: clients need no certificates.
  std::unique_ptr<PeerCertificates> certificates_;
  std::unique_ptr<PresentedTokens> presented_tokens_;  // null: no tokens
  std::unique_ptr<BackupThread> backups_;              // null: no store
  std::unique_ptr<YieldLinks> links_;                  // null: not configured
  std::unique_ptr<LimitWatch> limit_watch_;            // null: no service
  std::unique_ptr<ActorService> service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<StoreWatch> store_watch_;  // null: there is no store
  std::unique_ptr<Heartbeat> heartbeat_;     // null: no admin port
  std::unique_ptr<AdminPages> admin_pages_;  // null: no admin port
  std::unique_ptr<JsonApi> json_api_;        // null: not configured
  std::unique_ptr<AdminServer> admin_;       // null: no admin port
  std::vector<int> admin_ports_;
  std::vector<std::unique_ptr<PortFile>> port_files_;
  bool ended_ = false;  // EndProcesses was called
};

}  // namespace actord::daemon
