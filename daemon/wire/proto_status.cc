#include "daemon/wire/proto_status.h"

#include <actord/text.h>

#include <algorithm>
#include <string_view>

#include "daemon/counters/counter_values.h"
#include "daemon/wire/proto_plugins.h"
#include "daemon/wire/proto_time.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "handlers/builtin_handlers.h"

namespace actord::daemon {
namespace {

void SortByName(auto* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
}

}  // namespace

void WriteCounters(const runtime::RuntimeStats& of_runtime,
                   const DaemonStats& of_daemon, v1::Counters* proto) {
  const google::protobuf::Descriptor& message = *v1::Counters::descriptor();
  const google::protobuf::Reflection& fields = *proto->GetReflection();
  ForEachCounter(of_runtime, of_daemon,
                 [&](const runtime::CounterInfo& info, uint64_t value) {
                   // Each row has its field: counter_table_test.cc.
                   fields.SetUInt64(proto, message.FindFieldByName(info.name),
                                    value);
                 });
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
