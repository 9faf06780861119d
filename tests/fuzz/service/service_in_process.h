// The service of the daemon, all parts that it needs, and a channel within this
// process: no socket. Its store, and its file of tokens, are in a directory
// that goes with it. It checks tokens (auth.mode is enforce), and makes links.
//
// The processes below are there from the start, and their PIDs and tokens are
// always the same: incarnation 5, numbered in this order.
//
//   a counter named "counters/one", an order that waits for its payment, and a
//   counter without a name
//
// Thread-safety: one thread.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "daemon/access/access_control.h"
#include "daemon/calls/actor_service.h"
#include "daemon/connections/connections.h"
#include "daemon/links/yield_links.h"
#include "daemon/log/logging.h"
#include "daemon/operations/backup_thread.h"
#include "daemon/operations/exit_deadline.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/plugins/plugin_load_threads.h"
#include "daemon/settings/config.h"
#include "daemon/streams/history_thread.h"
#include "runtime/durable/opened_store.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::fuzz {

class ServiceInProcess {
 public:
  ServiceInProcess();
  ~ServiceInProcess();
  ServiceInProcess(const ServiceInProcess&) = delete;
  ServiceInProcess& operator=(const ServiceInProcess&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() { return channel_; }
  [[nodiscard]] const daemon::ActorService& service() const {
    return *service_;
  }
  [[nodiscard]] const daemon::YieldLinks& links() const { return *links_; }
  [[nodiscard]] daemon::Logger& logger() { return logger_; }
  // "Bearer " and a token: of an administrator who sees everything (0), of one
  // who sees its own owner (1), of a client (2), and of nobody (3).
  static std::string Authorization(size_t which);
  // A client has asked for the end, and so nothing new is begun.
  [[nodiscard]] bool ends() const { return shutdown_.requested(); }

 private:
  absl::Status Start();
  absl::Status OpenStore();
  void Submit(const char* type, const char* input, const char* name);

  const std::string directory_;
  const daemon::Config config_;
  daemon::Logger logger_;
  daemon::ExitDeadline deadline_;
  daemon::LoadedPlugins plugins_;
  runtime::Catalog catalog_;
  std::unique_ptr<runtime::OpenedStore> store_;
  std::unique_ptr<runtime::Runtime> runtime_;
  std::unique_ptr<daemon::AccessControl> access_;
  std::unique_ptr<daemon::BackupThread> backups_;
  std::unique_ptr<daemon::HistoryThread> histories_;
  std::unique_ptr<daemon::YieldLinks> links_;
  daemon::ShutdownControl shutdown_;
  std::unique_ptr<daemon::PluginLoadThreads> plugin_load_threads_;
  std::unique_ptr<daemon::Connections> connections_;
  std::unique_ptr<daemon::ActorService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace actord::fuzz
