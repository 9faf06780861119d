// Writes the responses of LoadPlugin and ListPlugins.
//
// Thread-safety: pure functions.
#pragma once

#include <vector>

#include "actord/v1/plugin.pb.h"
#include "actord/v1/status.pb.h"
#include "daemon/plugins/plugin_load_threads.h"

namespace actord::daemon {

void WritePlugin(const PluginInfo& info, v1::Plugin* proto);
void WriteLoaded(const PluginLoadThreads::Loaded& loaded,
                 v1::LoadPluginResponse* proto);
void WriteVersions(const std::vector<PluginLoadThreads::Version>& versions,
                   v1::ListPluginsResponse* proto);

}  // namespace actord::daemon
