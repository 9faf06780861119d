// The parts of the daemon for TLS, for addresses that strangers can reach, and
// for the admin port.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "daemon/admin/metrics.h"
#include "daemon/api/openapi/openapi_text.h"
#include "daemon/console/console_pages.h"
#include "daemon/daemon.h"
#include "daemon/listening/cannot_listen.h"
#include "daemon/listening/open_listening.h"
#include "daemon/settings/config_text.h"
#include "daemon/settings/version.h"
#include "runtime/actors/failures.h"
#include "runtime/system/clock.h"
#include "runtime/system/cpu_count.h"

namespace actord::daemon {

absl::Status Daemon::StartTls() {
  if (tls_ == nullptr) return absl::OkStatus();
  tls_offer_ = std::make_unique<TlsOffer>(*tls_);
  if (tls_->wants_client_certificates()) {
    ConnectionRegistry& registry = connections_->registry();
    certificates_ = std::make_unique<PeerCertificates>(
        *tls_,
        ConnectionAccess{.find =
                             [&registry](const std::string& peer) {
                               return registry.FindPeer(peer);
                             },
                         .is_open =
                             [&registry](uint64_t id) {
                               return registry.FindDescriptor(id).has_value();
                             },
                         .cut =
                             [this](uint64_t id, const std::string& subject) {
                               connections_->CutRevoked(id, subject);
                             }},
        runtime::Clock::System());
  }
  return tls_->Start([this](bool has_changed) {
    if (certificates_ != nullptr) certificates_->Tick(has_changed);
  });
}

void Daemon::ReloadTls() {
  if (tls_ != nullptr) tls_->Reload();
}

LimitWatch::Parts Daemon::PartsOfLimitWatch() const {
  return {.read =
              [this] {
                LimitSources sources{
                    .of_runtime = runtime_->Stats(),
                    .of_daemon = service_->Stats(),
                    .limits = runtime_->limits().Get(),
                    .max_connections = connections_->max_open(),
                    .max_connections_per_address =
                        connections_->max_open_of_address(),
                    .quotas = access_ == nullptr ? QuotaSettings()
                                                 : access_->AnyQuotas(),
                    .memory = memory_watch_->Use(),
                    .is_memory_low = memory_watch_->is_low(),
                    .is_store_full = std::nullopt};
                if (store_ != nullptr) sources.is_store_full = store_->IsFull();
                return ReadLimitUse(sources);
              },
          .own =
              [this, cpus = runtime::UsableCpuCount()] {
                OwnUse own = ReadOwnUse();
                own.cpus = cpus;
                own.memory = memory_watch_->Use();
                if (store_ != nullptr) {
                  own.store_disk_free_bytes = store_->FreeBytes();
                }
                return own;
              }};
}

HealthReport Daemon::Health() const {
  HealthReport report;
  std::string problem = heartbeat_->Problem();
  if (!problem.empty()) report.problems.push_back(std::move(problem));
  return report;
}

HealthReport Daemon::Readiness() const {
  HealthReport report;
  switch (runtime_->Stats().state) {
    case runtime::RunState::kStarting:
      report.problems.emplace_back("starting");
      break;
    case runtime::RunState::kServing:
      break;
    case runtime::RunState::kDraining:
    case runtime::RunState::kStopped:
      report.problems.emplace_back("draining: new processes are refused");
      break;
  }
  // A limit that is reached does not make the daemon unready: clients must be
  // able to complete, cancel and read, which makes room again.
  report.notes = limit_watch_->Notes();
  if (store_ == nullptr) return report;
  if (store_->journal().Stats().sync_running_ns >= StoreWatch::kHangNs) {
    report.problems.emplace_back(
        "the disk of the store hangs: answers for durable processes wait");
  }
  if (store_->IsFull()) {
    report.notes.emplace_back(
        "the disk of the store is full: new durable processes, and messages to "
        "them, are refused with STORE_FULL");
  }
  return report;
}

std::string Daemon::Metrics(const AdminCounts& counts) const {
  const auto flag = [](bool value) { return value ? 1.0 : 0.0; };
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  constexpr double kNsPerSecond = 1e9;
  MetricSources sources{.of_runtime = runtime_->Stats(),
                        .of_daemon = service_->Stats(),
                        .metrics = {},
                        .limits = runtime_->limits().Get(),
                        .version = kActordVersion,
                        .calls = {},
                        .failures = runtime_->failures().CountsByType(),
                        .types = {},
                        .turn_times = runtime_->TurnTimesByType()};
  for (const runtime::ProcessType* type : catalog_.process_types()) {
    sources.types.push_back(type->name);
  }
  service_->ForEachMethod([&](const std::string& method, uint64_t begun) {
    sources.calls.emplace_back(method, begun);
  });
  DaemonMetrics& metrics = sources.metrics;
  metrics.ready = flag(Readiness().problems.empty());
  metrics.healthy = flag(Health().problems.empty());
  metrics.auth_enforced =
      flag(access_ != nullptr && access_->mode() == AuthMode::kEnforce);
  metrics.start_time = number(service_->started_unix_ns()) / kNsPerSecond;
  metrics.uptime = number(service_->UptimeNs()) / kNsPerSecond;
  metrics.workers = sources.of_runtime.workers;
  uint64_t ready = sources.of_runtime.ready_global;
  for (const auto& worker : sources.of_runtime.of_workers) {
    ready += worker.ready;
  }
  metrics.processes_ready = number(ready);
  metrics.yields_unserved = number(sources.of_runtime.external_yields_unserved);
  metrics.pooled_running = number(sources.of_runtime.blocking_running);
  if (tls_ != nullptr) {
    metrics.certificate_expiry =
        absl::ToDoubleSeconds(tls_->current()->not_after() - absl::UnixEpoch());
  }
  if (store_ != nullptr) {
    // Read in this order, so that each position is at or after the previous
    // one.
    const uint64_t applied = store_->Applied();
    const uint64_t durable = store_->journal().DurableLsn();
    const uint64_t tail = store_->journal().Tail();
    const runtime::JournalStats journal = store_->journal().Stats();
    metrics.store_full = flag(store_->IsFull());
    metrics.store_disk_free = number(store_->FreeBytes());
    metrics.store_unapplied = number(durable - std::min(durable, applied));
    metrics.journal_behind = flag(store_->journal().Behind());
    metrics.journal_unsynced = number(tail - durable);
    metrics.journal_sync_running =
        number(journal.sync_running_ns) / kNsPerSecond;
    metrics.journal_groups = number(journal.groups);
    metrics.journal_records = number(journal.records);
    metrics.journal_written = number(journal.written_bytes);
    metrics.journal_room_waits = number(journal.room_waits);
    metrics.journal_unpublished_stalls = number(journal.unpublished_stalls);
  }
  metrics.admin_connections_open = number(counts.connections_open);
  metrics.admin_connections_refused = number(counts.connections_refused);
  metrics.admin_requests = number(counts.requests);
  metrics.admin_requests_refused = number(counts.requests_refused);
  SetOwnUse(metrics);
  return WriteMetrics(sources);
}

absl::Status Daemon::OpenLinks() {
  if (config_.admin_link_key.empty()) return absl::OkStatus();
  const absl::StatusOr<LinkKey> key = OpenLinkKey(config_.admin_link_key);
  if (!key.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("admin.link_key: ", std::string(key.status().message())));
  }
  links_ = std::make_unique<YieldLinks>(
      *key,
      [this](const runtime::YieldToken& yield) {
        return runtime_->remote_tasks().FateOf(yield);
      },
      runtime::Clock::System());
  return absl::OkStatus();
}

Heartbeat::Beat Daemon::ReadBeat() const {
  Heartbeat::Beat beat;
  beat.has_ready = runtime_->HasReadyWork();
  for (const runtime::WorkerStats& worker : runtime_->Stats().of_workers) {
    beat.turns += worker.turns;
  }
  return beat;
}

absl::StatusOr<AdminServer::Options> Daemon::AdminOptions() {
  heartbeat_ = std::make_unique<Heartbeat>([this] { return ReadBeat(); });
  admin_pages_ = std::make_unique<AdminPages>(AdminPages::Sources{
      .health = [this] { return Health(); },
      .readiness = [this] { return Readiness(); },
      .metrics =
          [this](const AdminCounts& counts) { return Metrics(counts); }});
  std::vector<std::string> names = config_.admin_hosts;
  if (links_ != nullptr && !config_.admin_link_url.empty()) {
    names.push_back(*ParseLinkUrl(config_.admin_link_url));
  }
  AdminServer::Options options{
      .listeners = {},
      .hosts = AllowedHosts(config_.admin_listen, names),
      .answer =
          [this](const AdminRequest& request, const AdminCounts& counts) {
            return config_.admin_api && IsConsolePath(request.path)
                       ? ConsoleAnswer(request)
                       : admin_pages_->Answer(request, counts);
          },
      .each_second = [this] { heartbeat_->Look(); },
      .limits = {},
      .calls = nullptr,
      .clients = &connections_->http_clients()};
  if (!config_.admin_api) return options;
  JsonApi::Options of_api;
  of_api.max_request_bytes = RpcServer::MaxRequestBytes(config_);
  of_api.openapi = OpenApiText();
  of_api.links = links_.get();
  of_api.logger = &logger_;
  auto api = JsonApi::Start(*service_, runtime::Clock::System(), of_api);
  if (!api.ok()) return api.status();
  json_api_ = *std::move(api);
  options.calls = json_api_.get();
  options.limits.all_bodies_bytes =
      std::max(options.limits.all_bodies_bytes, json_api_->max_body_bytes());
  return options;
}

absl::Status Daemon::StartAdmin() {
  if (config_.admin_listen.empty()) return absl::OkStatus();
  absl::StatusOr<AdminServer::Options> options = AdminOptions();
  if (!options.ok()) return options.status();
  std::vector<std::string> names;
  std::string of_links = config_.admin_link_url;
  for (const std::string& address : config_.admin_listen) {
    auto listener = Listener::Open(
        address, {.mode = config_.unix_mode, .group = config_.unix_group});
    if (!listener.ok()) {
      return CannotListen(kAdminListenKey, address,
                          std::string(listener.status().message()));
    }
    const int port = (*listener)->port();
    names.push_back(port == 0 ? address : WithPort(address, port));
    if (port != 0) admin_ports_.push_back(port);
    if (of_links.empty() && CanBeVisited(address)) {
      of_links = absl::StrCat("http://", names.back());
    }
    options->listeners.push_back(*std::move(listener));
  }
  // If another daemon had one of the addresses, the file could belong to it.
  if (!config_.admin_port_file.empty()) {
    const absl::Status status = RemovePortFile(config_.admin_port_file);
    if (!status.ok()) return status;
  }
  auto server = AdminServer::Start(*std::move(options), logger_,
                                   runtime::Clock::System());
  if (!server.ok()) return server.status();
  admin_ = *std::move(server);
  if (links_ != nullptr) links_->SetUrl(of_links);
  logger_.Info(absl::StrCat(
      "the admin port is on ", absl::StrJoin(names, ", "),
      json_api_ == nullptr ? "" : ", with the JSON API and the console"));
  return absl::OkStatus();
}

void Daemon::StopAdmin() {
  // In this order: the server writes the answers that the API hands over.
  if (json_api_ != nullptr) json_api_->Stop();
  if (admin_ != nullptr) admin_->Stop();
}

absl::Status Daemon::WritePortFiles() {
  const std::pair<const std::string&, const std::vector<int>&> files[] = {
      {config_.admin_port_file, admin_ports_}, {config_.port_file, ports()}};
  for (const auto& [path, ports] : files) {
    if (path.empty()) continue;
    // A reader of the file finds all earlier lines in the log.
    logger_.Flush(LogWriter::kLastPatience);
    auto file = PortFile::Write(path, ports);
    if (!file.ok()) {
      RemovePortFiles();
      return file.status();
    }
    port_files_.push_back(*std::move(file));
  }
  return absl::OkStatus();
}

void Daemon::RemovePortFiles() {
  for (const std::unique_ptr<PortFile>& file : port_files_) {
    const absl::Status removed = file->Remove();
    if (!removed.ok()) logger_.Warning(std::string(removed.message()));
  }
}

void Daemon::WarnOfStrangers() {
  const bool needs_tokens = AuthModeInForce(config_) == AuthMode::kEnforce;
  for (const std::string& address : OpenAdminAddresses(config_)) {
    const char* const can =
        !config_.admin_api ? " can read the state of the daemon"
        : needs_tokens     ? " can read the metrics and, on the way, the tokens"
                           : " can do everything";
    logger_.Warning(absl::StrCat(
        "anyone who reaches ", address, can,
        ": admin.insecure_listen is set, and the "
        "admin port has no TLS",
        config_.admin_api && !needs_tokens ? ", and there are no tokens" : ""));
  }
  if (config_.auth_tokens.empty() && config_.quotas.IsAny()) {
    logger_.Warning(
        "quotas limit nobody: they are of clients with tokens, and auth.tokens "
        "is not set");
  }
  // With authorities of clients there are no strangers.
  if (!config_.tls.client_ca.empty()) return;
  const bool has_tls = !config_.tls.certificate.empty();
  const bool is_enforced = AuthModeInForce(config_) == AuthMode::kEnforce;
  if (has_tls && is_enforced) return;
  const char* const no_tls = "server.insecure_listen is set, there is no TLS";
  for (const std::string& address : OpenAddresses(config_)) {
    logger_.Warning(
        is_enforced
            ? absl::StrCat("tokens reach ", address, " in clear text: ", no_tls)
            : absl::StrCat("anyone who reaches ", address,
                           " can do everything: ",
                           has_tls ? "clients need no certificates "
                                     "(tls.client_ca)"
                                   : no_tls,
                           access_ == nullptr ? ", and there are no tokens"
                                              : ", and auth.mode refuses "
                                                "nothing"));
  }
}

}  // namespace actord::daemon
