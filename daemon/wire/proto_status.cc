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
#include "runtime/settings/limit_info.h"

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
  const google::protobuf::Descriptor& message = *v1::Limits::descriptor();
  const google::protobuf::Reflection& fields = *proto->GetReflection();
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    // Null if the status does not show the limit; limit_table_test.cc checks
    // the names and types of the others.
    const auto* const field = message.FindFieldByName(row.field);
    if (field == nullptr) continue;
    if (row.number != nullptr) {
      fields.SetUInt64(proto, field, limits.*row.number);
    } else if (row.kind != runtime::LimitKind::kDurationOrNone ||
               limits.*row.duration != absl::InfiniteDuration()) {
      fields.MutableMessage(proto, field)
          ->CopyFrom(ToProtoDuration(limits.*row.duration));
    }
  }
  *proto->mutable_request_id_retention() =
      ToProtoDuration(config.request_id_ttl);
  proto->set_max_request_ids(config.request_id_max);
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

v1::BootTree ToProto(BootTreeState state) {
  switch (state) {
    case BootTreeState::kNone:
      return v1::BOOT_TREE_UNSPECIFIED;
    case BootTreeState::kStarted:
      return v1::BOOT_TREE_STARTED;
    case BootTreeState::kContinued:
      return v1::BOOT_TREE_CONTINUED;
    case BootTreeState::kDiffers:
      return v1::BOOT_TREE_DIFFERS;
  }
  return v1::BOOT_TREE_UNSPECIFIED;
}

}  // namespace actord::daemon
