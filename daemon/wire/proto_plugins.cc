#include "daemon/wire/proto_plugins.h"

#include <actord/text.h>

#include <algorithm>

namespace actord::daemon {

void WritePlugin(const PluginInfo& info, v1::Plugin* proto) {
  proto->set_name(info.name);
  proto->set_version(ToUtf8(info.version));
  proto->set_path(ToUtf8(info.path));
  proto->set_sha256(info.digest);
}

void WriteLoaded(const PluginLoadThreads::Loaded& loaded,
                 v1::LoadPluginResponse* proto) {
  WritePlugin(loaded.plugin.plugin, proto->mutable_plugin());
  proto->set_replaced_version(ToUtf8(loaded.plugin.replaced_version));
  for (const runtime::ProcessType* type : loaded.plugin.process_types) {
    proto->add_process_types(type->name);
  }
  for (const std::string& command : loaded.plugin.commands) {
    proto->add_commands(command);
  }
  std::sort(proto->mutable_process_types()->begin(),
            proto->mutable_process_types()->end());
  std::sort(proto->mutable_commands()->begin(),
            proto->mutable_commands()->end());
  proto->set_processes_told(loaded.told);
}

void WriteVersions(const std::vector<PluginLoadThreads::Version>& versions,
                   v1::ListPluginsResponse* proto) {
  for (const PluginLoadThreads::Version& version : versions) {
    v1::PluginVersion* const plugin = proto->add_plugins();
    WritePlugin(version.plugin, plugin->mutable_plugin());
    plugin->set_in_force(version.in_force);
    for (const PluginLoadThreads::TypeVersion& one : version.process_types) {
      v1::ProcessTypeVersion* const type = plugin->add_process_types();
      type->set_name(one.type->name);
      type->set_in_force(one.type->in_force.load(std::memory_order_acquire));
      type->set_processes_live(one.live);
      type->set_processes_to_come(one.to_come);
      type->set_upgrades_total(
          one.type->upgraded.load(std::memory_order_relaxed));
      type->set_upgrades_declined_total(
          one.type->declined.load(std::memory_order_relaxed));
    }
  }
}

}  // namespace actord::daemon
