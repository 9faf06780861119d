// The service of the daemon, all parts that it needs, and a channel within this
// process: no socket, no file but the example plugins.
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

#include <memory>

#include "absl/status/status.h"
#include "daemon/calls/actor_service.h"
#include "daemon/connections/connections.h"
#include "daemon/log/logging.h"
#include "daemon/operations/exit_deadline.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/plugins/plugin_load_threads.h"
#include "daemon/settings/config.h"
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
  // A client has asked for the end, and so nothing new is begun.
  [[nodiscard]] bool ends() const { return shutdown_.requested(); }

 private:
  absl::Status Start();
  void Submit(const char* type, const char* input, const char* name);

  const daemon::Config config_;
  daemon::Logger logger_;
  daemon::ExitDeadline deadline_;
  daemon::LoadedPlugins plugins_;
  runtime::Catalog catalog_;
  std::unique_ptr<runtime::Runtime> runtime_;
  daemon::ShutdownControl shutdown_;
  std::unique_ptr<daemon::PluginLoadThreads> plugin_load_threads_;
  std::unique_ptr<daemon::Connections> connections_;
  std::unique_ptr<daemon::ActorService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace actord::fuzz
