#include "daemon/wire/proto_status.h"

#include <actord/text.h>

#include <algorithm>
#include <string_view>

#include "daemon/wire/proto_plugins.h"
#include "daemon/wire/proto_time.h"
#include "handlers/builtin_handlers.h"

namespace actord::daemon {
namespace {

void SortByName(auto* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
}

}  // namespace

void WriteCounters(const runtime::RuntimeStats& stats, v1::Counters* proto) {
  proto->set_processes_live(stats.processes_live);
  proto->set_processes_started_total(stats.processes_started);
  proto->set_processes_ended_total(stats.processes_ended);
  proto->set_processes_failed_total(stats.processes_failed);
  proto->set_steps_total(stats.steps);
  proto->set_messages_total(stats.messages_sent);
  proto->set_dead_letters_total(stats.dead_letters);
  proto->set_yields_total(stats.yields);
  proto->set_completions_total(stats.completions);
  proto->set_yields_external_waiting(stats.external_yields_waiting);
  proto->set_commands_pooled_waiting(stats.blocking_queue);
  proto->set_remote_workers(stats.remote_workers);
  proto->set_tasks_leased(stats.tasks_leased);
  proto->set_results_kept(stats.results_kept);
  proto->set_results_kept_bytes(stats.results_bytes);
  proto->set_late_replies_total(stats.late_replies);
  proto->set_dead_letters_kept(stats.dead_letters_kept);
  proto->set_dead_letters_kept_bytes(stats.dead_letters_bytes);
  proto->set_dead_letters_forgotten_total(stats.dead_letters_forgotten);
  proto->set_dead_letters_resent_total(stats.dead_letters_resent);
  proto->set_dead_letters_dropped_total(stats.dead_letters_dropped);
  proto->set_watches_open(stats.watches_open);
  proto->set_watch_events_total(stats.watch_events);
  proto->set_watch_events_kept(stats.watch_events_kept);
  proto->set_watch_events_kept_bytes(stats.watch_events_bytes);
  proto->set_watch_events_missed_total(stats.watch_events_missed);
  proto->set_watch_limit_total(stats.refused_watches);
  proto->set_mailbox_limit_total(stats.refused_mailbox);
  proto->set_process_limit_total(stats.refused_processes);
  proto->set_process_type_limit_total(stats.refused_processes_of_type);
  proto->set_yield_limit_total(stats.refused_yields);
  proto->set_external_yield_limit_total(stats.refused_external);
  proto->set_payload_limit_total(stats.refused_payloads);
  proto->set_step_limit_total(stats.ended_by_steps);
  proto->set_lifetime_limit_total(stats.ended_by_lifetime);
  proto->set_upgrades_total(stats.upgrades);
  proto->set_upgrades_declined_total(stats.upgrades_declined);
  proto->set_processes_ready_global(stats.ready_global);
}

void WriteWorkers(const runtime::RuntimeStats& stats,
                  v1::GetStatusResponse* proto) {
  for (const runtime::WorkerStats& worker : stats.of_workers) {
    v1::WorkerStatus* const status = proto->add_worker_status();
    status->set_index(static_cast<uint32_t>(proto->worker_status_size() - 1));
    status->set_turns_total(worker.turns);
    status->set_steals_total(worker.steals);
    status->set_wake_ups_total(worker.wake_ups);
    status->set_processes_ready(worker.ready);
    status->set_hand_overs_total(worker.hand_overs);
  }
}

void WriteLimits(const runtime::Limits& limits, const Config& config,
                 v1::Limits* proto) {
  proto->set_max_payload_bytes(limits.max_payload_bytes);
  proto->set_max_processes(limits.max_processes);
  proto->set_max_mailbox_messages(limits.max_mailbox_messages);
  proto->set_max_mailbox_bytes(limits.max_mailbox_bytes);
  proto->set_max_yields_per_process(limits.max_yields);
  proto->set_max_external_yield_bytes(limits.max_external_yield_bytes);
  *proto->mutable_result_retention() = ToProtoDuration(limits.result_ttl);
  proto->set_max_results_bytes(limits.result_max_bytes);
  *proto->mutable_request_id_retention() =
      ToProtoDuration(config.request_id_ttl);
  proto->set_max_request_ids(config.request_id_max);
  *proto->mutable_yield_answer_retention() =
      ToProtoDuration(limits.answered_yield_ttl);
  proto->set_max_yield_answers(limits.answered_yield_max);
  if (limits.default_yield_timeout != absl::InfiniteDuration()) {
    *proto->mutable_default_yield_timeout() =
        ToProtoDuration(limits.default_yield_timeout);
  }
  proto->set_max_dead_letters(limits.dead_letter_max_count);
  proto->set_max_dead_letters_bytes(limits.dead_letter_max_bytes);
  proto->set_max_watches(limits.max_watches);
  proto->set_max_watch_events(limits.watch_max_events);
  proto->set_max_watch_bytes(limits.watch_max_bytes);
  if (limits.watch_retention != absl::InfiniteDuration()) {
    *proto->mutable_watch_retention() = ToProtoDuration(limits.watch_retention);
  }
  proto->set_max_steps_per_process(limits.max_steps);
  if (limits.max_lifetime != absl::InfiniteDuration()) {
    *proto->mutable_max_lifetime() = ToProtoDuration(limits.max_lifetime);
  }
  for (const runtime::TypeLimit& limit : config.runtime.type_limits) {
    v1::ProcessTypeLimit* const of_type = proto->add_process_type_limits();
    of_type->set_process_type(limit.process_type);
    of_type->set_max_processes(limit.max_processes);
  }
}

void WriteCatalog(const std::vector<PluginInfo>& plugins,
                  const runtime::Catalog& catalog,
                  const std::vector<std::string>& external_commands,
                  v1::GetStatusResponse* proto) {
  for (const PluginInfo& info : plugins) {
    WritePlugin(info, proto->add_plugins());
  }
  for (const auto& type : catalog.process_types()) {
    v1::ProcessType* const process_type = proto->add_process_types();
    process_type->set_name(type->name);
    process_type->set_plugin(type->plugin);
    for (size_t i = 0; i < type->descriptor->method_count; ++i) {
      process_type->add_methods(ToUtf8(type->descriptor->methods[i].name));
    }
  }
  for (const auto& handler : catalog.commands()) {
    v1::Command* const command = proto->add_commands();
    command->set_name(handler->name);
    command->set_kind(handler->descriptor->mode == ACTORD_HANDLER_POOLED
                          ? v1::COMMAND_KIND_POOLED
                          : v1::COMMAND_KIND_INLINE);
    if (handler->plugin != handlers::kBuiltinPlugin) {
      command->set_plugin(handler->plugin);
    }
  }
  for (const std::string& pattern : external_commands) {
    v1::Command* const command = proto->add_commands();
    command->set_name(ToUtf8(pattern));
    command->set_kind(v1::COMMAND_KIND_EXTERNAL);
  }
  SortByName(proto->mutable_plugins());
  SortByName(proto->mutable_process_types());
  SortByName(proto->mutable_commands());
}

v1::DaemonState ToProto(runtime::RunState state) {
  switch (state) {
    case runtime::RunState::kStarting:
      return v1::DAEMON_STATE_STARTING;
    case runtime::RunState::kServing:
      return v1::DAEMON_STATE_SERVING;
    case runtime::RunState::kDraining:
    case runtime::RunState::kStopped:
      return v1::DAEMON_STATE_DRAINING;
  }
  return v1::DAEMON_STATE_UNSPECIFIED;
}

}  // namespace actord::daemon
