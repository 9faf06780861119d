// The status and the shutdown of the daemon.
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "daemon/access/method_rules.h"
#include "daemon/calls/actor_service.h"
#include "daemon/settings/version.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_status.h"
#include "daemon/wire/proto_time.h"

namespace actord::daemon {

namespace {

void WriteRights(const Access& access, v1::CallerRights* rights) {
  const identity::Identity* const identity =
      access.is_enforced() ? access.identity() : nullptr;
  if (identity != nullptr) {
    rights->set_name(identity->name);
    rights->set_role(std::string(identity::RoleName(identity->role)));
  }
  for (const MethodRule& rule : MethodRules()) {
    if (identity == nullptr ||
        (MayCall(identity->role, rule) && SeesEnough(identity->sees, rule))) {
      rights->add_methods(std::string(rule.method));
    }
  }
  rights->set_sees_payloads(
      identity == nullptr ||
      identity::Permits(identity->role, identity::Permission::kSeePayloads));
}

void WriteLimitUse(const LimitWatch::State& state,
                   v1::GetStatusResponse* response) {
  for (const LimitWatch::Limit& limit : state.limits) {
    v1::LimitUse* const use = response->add_limit_use();
    use->set_name(LimitUseName(limit.use));
    use->set_setting(limit.use.row->setting);
    use->set_unit(limit.use.row->unit);
    if (limit.use.used.has_value()) use->set_used(*limit.use.used);
    if (limit.use.max.has_value()) use->set_max(*limit.use.max);
    use->set_refused_total(limit.use.refused);
    use->set_is_unset(limit.use.is_unset);
    use->set_needs_restart(limit.use.row->needs_restart);
    if (limit.full_since_unix_ns != 0) {
      *use->mutable_full_since() = ToProtoTimestamp(limit.full_since_unix_ns);
    }
  }
}

void WriteResources(const LimitWatch::State& state, v1::Resources* resources) {
  const OwnUse& own = state.own;
  resources->set_resident_bytes(own.resident_bytes);
  if (own.memory.has_value()) {
    resources->set_memory_used_bytes(own.memory->bytes);
    resources->set_memory_limit_bytes(own.memory->limit);
  }
  *resources->mutable_cpu_time() =
      ToProtoDuration(absl::Nanoseconds(static_cast<int64_t>(own.cpu_ns)));
  resources->set_cpu_busy(state.cpu_busy);
  resources->set_cpus(static_cast<uint32_t>(own.cpus));
  const MachineUse machine = ReadMachineUse();
  if (machine.load.has_value()) resources->set_machine_load(*machine.load);
  if (machine.memory_bytes.has_value()) {
    resources->set_machine_memory_bytes(*machine.memory_bytes);
  }
  if (machine.memory_free_bytes.has_value()) {
    resources->set_machine_memory_available_bytes(*machine.memory_free_bytes);
  }
  if (own.store_disk_free_bytes.has_value()) {
    resources->set_store_disk_free_bytes(*own.store_disk_free_bytes);
  }
}

}  // namespace

DaemonStats ActorService::Stats() const {
  DaemonStats stats;
  stats.streams_open = streams_.size();
  stats.log_lines_dropped = context_.logger.dropped_lines();
  context_.connections.WriteStats(stats);
  stats.unread_answers_limit = unread_answers().refused();
  if (context_.access != nullptr) context_.access->WriteStats(stats);
  if (context_.spans != nullptr) context_.spans->WriteStats(stats);
  return stats;
}

absl::Status ActorService::GetStatus(const Caller& caller,
                                     v1::GetStatusRequest& request,
                                     v1::GetStatusResponse& response) {
  const runtime::RuntimeStats stats = runtime_.Stats();
  const runtime::RuntimeOptions& options = runtime_.options();
  response.set_version(kActordVersion);
  response.set_incarnation(absl::StrFormat("%08x", options.incarnation));
  response.set_state(ToProto(stats.state));
  *response.mutable_start_time() = ToProtoTimestamp(started_unix_ns_);
  *response.mutable_uptime() = ToProtoDuration(absl::Nanoseconds(UptimeNs()));
  response.set_boot_tree(ToProto(context_.boot_tree));
  response.set_workers(static_cast<uint32_t>(stats.workers));
  WriteCatalog(context_.plugins.InForce(), context_.catalog,
               options.external_commands, &response);
  WriteCounters(stats, Stats(), response.mutable_counters());
  WriteWorkers(stats, &response);
  WriteLimits(runtime_.limits().Get(), context_.config,
              response.mutable_limits());
  if (context_.limits != nullptr) {
    const LimitWatch::State state = context_.limits->Now();
    WriteLimitUse(state, &response);
    WriteResources(state, response.mutable_resources());
  }
  if (request.with_caller()) {
    WriteRights(caller.access(), response.mutable_caller());
  }
  return absl::OkStatus();
}

// The call is answered when all processes have ended. The daemon then answers
// the other open calls before it closes the connection.
void ActorService::Shutdown(const Caller& caller, v1::ShutdownRequest& request,
                            UnaryAnswer<v1::ShutdownResponse> answer) {
  const absl::StatusOr<ShutdownOrder> order =
      ReadShutdown(request, context_.config.drain_timeout);
  const AuditEntry audit = Audit(caller, request);
  // The line comes before the end of the daemon begins.
  audit.Done(order.status());
  if (!order.ok()) return answer.Finish(order.status(), {});
  const bool has_inherited_sockets = !context_.config.inherited_sockets.empty();
  context_.shutdown.Request(
      order->mode, order->timeout,
      [answer, has_inherited_sockets](const runtime::ShutdownReport& report) {
        v1::ShutdownResponse response;
        response.set_has_inherited_sockets(has_inherited_sockets);
        response.set_ended_count(report.ended);
        response.set_forced_count(report.forced);
        response.set_kept_count(report.kept);
        answer.Finish(absl::OkStatus(), response);
      },
      order->durable);
}

}  // namespace actord::daemon
