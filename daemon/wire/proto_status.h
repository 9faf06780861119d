// Writes the response of GetStatus.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "actord/v1/actor_service.pb.h"
#include "daemon/counters/stats.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/settings/boot_tree_state.h"
#include "daemon/settings/config.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::daemon {

void WriteCounters(const runtime::RuntimeStats& of_runtime,
                   const DaemonStats& of_daemon, v1::Counters* proto);
void WriteWorkers(const runtime::RuntimeStats& stats,
                  v1::GetStatusResponse* proto);
// `limits`: the limits in force in the runtime. The limits of request ids are
// in `config`, because the daemon keeps the request ids.
void WriteLimits(const runtime::Limits& limits, const Config& config,
                 v1::Limits* proto);
// Writes plugins, process types, commands and external patterns, each sorted by
// name.
void WriteCatalog(const std::vector<PluginInfo>& plugins,
                  const runtime::Catalog& catalog,
                  const std::vector<std::string>& external_commands,
                  v1::GetStatusResponse* proto);
v1::DaemonState ToProto(runtime::RunState state);
v1::BootTree ToProto(BootTreeState state);

}  // namespace actord::daemon
