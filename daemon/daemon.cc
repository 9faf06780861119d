#include "daemon/daemon.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/boot_tree.h"
#include "daemon/settings/version.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

Daemon::Daemon(const Config& config, Logger& logger, CallCheck check)
    : config_(config),
      logger_(logger),
      check_(std::move(check)),
      shutdown_(config.force_timeout, deadline_) {}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const Config& config,
                                                      Logger& logger,
                                                      CallCheck check) {
  std::unique_ptr<Daemon> daemon = Create(config, logger, std::move(check));
  const absl::Status status = daemon->Open();
  if (!status.ok()) return status;
  return daemon;
}

std::unique_ptr<Daemon> Daemon::Create(const Config& config, Logger& logger,
                                       CallCheck check) {
  return std::unique_ptr<Daemon>(new Daemon(config, logger, std::move(check)));
}

absl::Status Daemon::Open() {
  const absl::Status status = OpenAll();
  if (status.ok()) return status;
  if (absl::IsCancelled(status) && shutdown_.requested()) {
    logger_.Info(std::string(status.message()));
    return absl::OkStatus();
  }
  EndFailedStart(status);
  return status;
}

absl::Status Daemon::OpenAll() {
  absl::Status status = deadline_.Start([this] { Expire(); });
  if (status.ok()) status = shutdown_.Start();
  if (!status.ok()) return status;
  auto tls = TlsReloader::Open(config_.tls, logger_, runtime::Clock::System());
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  if (!config_.auth_tokens.empty()) {
    auto access =
        AccessControl::Open(config_, logger_, runtime::Clock::System());
    if (!access.ok()) return access.status();
    access_ = *std::move(access);
  }
  status = OpenLinks();
  if (!status.ok()) return status;
  auto reservation = RpcServer::Reserve(config_);
  if (!reservation.ok()) return reservation.status();
  reservation_ = *std::move(reservation);
  // If another daemon has the address, the file may belong to that daemon.
  if (!config_.port_file.empty()) status = RemovePortFile(config_.port_file);
  if (status.ok()) status = StartRuntime();
  if (status.ok()) status = StartServer();
  if (status.ok() && service_reports_ != nullptr) {
    status = service_reports_->StartWatchdog([this] { return ReadBeat(); });
  }
  if (!status.ok()) return status;
  logger_.Info(config_.set.empty()
                   ? "no setting is set; all have their defaults"
                   : absl::StrCat("settings that are set: ",
                                  absl::StrJoin(config_.set, ", ")));
  logger_.Info(absl::StrCat("actord ", kActordVersion, " serves on ",
                            absl::StrJoin(addresses(), ", "), " with ",
                            runtime_->options().workers, " workers"));
  WarnOfStrangers();
  status = WritePortFiles();
  if (!status.ok()) return status;
  if (service_reports_ != nullptr) {
    service_reports_->Serving(
        absl::StrCat("serves on ", absl::StrJoin(addresses(), ", ")));
  }
  return absl::OkStatus();
}

void Daemon::LogPlugins() {
  for (const PluginInfo& plugin : plugins_.InForce()) {
    if (plugin.path.empty()) continue;  // built in
    logger_.Info(absl::StrCat("plugin ", plugin.name, " ", plugin.version,
                              " loaded from ", plugin.path, ", SHA-256 ",
                              plugin.digest));
  }
  const absl::Status& copies = plugins_.CopiesStatus();
  if (copies.ok() || config_.plugin_cache == "memory") return;
  const auto level = config_.plugin_cache.empty() ? runtime::LogLevel::kDebug
                                                  : runtime::LogLevel::kWarning;
  logger_.Log(level, absl::StrCat("plugins are copied to memory, because "
                                  "plugins.cache cannot be used: ",
                                  copies.message()));
}

absl::Status Daemon::StartRuntime() {
  absl::Status status = OpenStore();
  if (!status.ok()) return status;
  if (!config_.traces.endpoint.empty()) {
    auto spans =
        Spans::Start(config_.traces, logger_, runtime::Clock::System());
    if (!spans.ok()) return spans.status();
    spans_ = *std::move(spans);
  }
  auto runtime = runtime::Runtime::Create(OptionsOfRuntime(), catalog_);
  if (!runtime.ok()) return runtime.status();
  runtime_ = *std::move(runtime);
  status =
      plugins_.Load(config_, runtime_->host(), catalog_, kept_plugins_.get());
  if (!status.ok()) return status;
  LogPlugins();
  for (const runtime::TypeLimit& limit : config_.runtime.type_limits) {
    if (catalog_.FindProcessType(limit.process_type) == nullptr) {
      logger_.Warning(
          absl::StrCat("limits.max_processes_per_type: no plugin "
                       "has the process type \"",
                       limit.process_type, "\""));
    }
  }
  if (config_.boot_tree.empty()) return StartProcesses();
  const auto tree =
      ReadBootTree(config_.boot_tree, config_.runtime.max_payload_bytes);
  if (!tree.ok()) return tree.status();
  status = StartProcesses();
  if (!status.ok()) return status;
  return StartBootTree(*tree, config_, *runtime_, shutdown_, logger_,
                       boot_tree_);
}

absl::Status Daemon::StartServer() {
  memory_watch_ = std::make_unique<MemoryWatch>(
      MemoryWatch::FindLimits(""), "",
      [this](bool low) { runtime_->SetMemoryLow(low); }, logger_);
  const absl::Status watched = memory_watch_->Start();
  if (!watched.ok()) return watched;
  memory_return_ =
      std::make_unique<MemoryReturn>(MemoryReturn::PartsOf(*runtime_), logger_);
  const absl::Status returned = memory_return_->Start();
  if (!returned.ok()) return returned;
  plugin_load_threads_ =
      std::make_unique<PluginLoadThreads>(plugins_, *runtime_, logger_);
  const absl::Status readers = StartStoreReaders();
  if (!readers.ok()) return readers;
  connections_ = std::make_unique<Connections>(
      config_, RpcServer::MaxRequestBytes(config_), logger_,
      runtime::Clock::System());
  absl::Status status = StartTls();
  if (!status.ok()) return status;
  CallCheck check = check_;
  if (check == nullptr && access_ != nullptr) {
    check = [this](const Caller& caller) {
      return access_->Admit(caller.source(), caller.method(),
                            caller.request_bytes());
    };
  }
  if (access_ != nullptr) {
    presented_tokens_ =
        std::make_unique<PresentedTokens>(connections_->registry());
  }
  limit_watch_ = std::make_unique<LimitWatch>(PartsOfLimitWatch(), logger_,
                                              runtime::Clock::System());
  ServiceContext context{config_,
                         runtime::Clock::System(),
                         catalog_,
                         plugins_,
                         *plugin_load_threads_,
                         *runtime_,
                         runtime_->request_ids(),
                         runtime_->message_ids(),
                         shutdown_,
                         logger_,
                         *connections_,
                         access_.get(),
                         check,
                         certificates_.get(),
                         presented_tokens_.get(),
                         backups_.get(),
                         histories_.get(),
                         links_.get(),
                         boot_tree_};
  context.limits = limit_watch_.get();
  context.spans = spans_.get();
  service_ = std::make_unique<ActorService>(context);
  if (access_ != nullptr) {
    status = access_->Start(
        [this] {
          for (const uint64_t id : presented_tokens_->NextRound()) {
            connections_->CutOverQuota(id);
          }
          service_->RecheckStreams();
        },
        [this](const runtime::OwnerQuotas& all,
               const std::vector<runtime::OwnQuotas>& own) {
          const absl::Status set = runtime_->SetQuotas(all, own);
          ACTORD_ASSERT(set.ok(), "daemon.cc: counts_owners is set");
        });
    if (!status.ok()) return status;
  }
  auto server = RpcServer::Start(config_, *service_, *connections_,
                                 reservation_, tls_offer_.get());
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  status = StartStoreWatch();
  if (status.ok()) status = limit_watch_->Start();
  return status.ok() ? StartAdmin() : status;
}

Daemon::~Daemon() {
  if (service_reports_ != nullptr) service_reports_->StopWatchdog();
  // Ends the processes if Run has not ended them.
  if (runtime_ != nullptr && !ended_) {
    shutdown_.Request(runtime::ShutdownMode::kNow, absl::ZeroDuration());
    EndProcesses();
  }
  // PluginLoadThreads answers the calls that wait for it.
  if (plugin_load_threads_ != nullptr)
    plugin_load_threads_->Stop(absl::InfiniteDuration());
  if (access_ != nullptr) access_->Stop();
  if (tls_ != nullptr) tls_->Stop();
  StopAdmin();
  admin_.reset();
  json_api_.reset();
  store_watch_.reset();
  // Its thread uses the service.
  if (limit_watch_ != nullptr) limit_watch_->Stop();
  server_.reset();
  backups_.reset();
  histories_.reset();
  service_.reset();
  limit_watch_.reset();
  presented_tokens_.reset();
  certificates_.reset();
  plugin_load_threads_.reset();
  memory_return_.reset();
  memory_watch_.reset();
  plugins_.DestroyHandlers();
  runtime_.reset();
}

}  // namespace actord::daemon
