// Loading plugins while the daemon runs, and listing them.
#include <vector>

#include "daemon/calls/actor_service.h"
#include "daemon/plugins/plugin_load_threads.h"
#include "daemon/wire/proto_plugins.h"

namespace actord::daemon {

// The load continues if the client goes away, so that no plugin stays half
// loaded.
void ActorService::LoadPlugin(const Caller& caller,
                              v1::LoadPluginRequest& request,
                              UnaryAnswer<v1::LoadPluginResponse> answer) {
  context_.plugin_load_threads.Load(
      request.path(), request.new_processes_only(),
      [answer, audit = Audit(caller, request)](
          const absl::StatusOr<PluginLoadThreads::Loaded>& loaded) {
        audit.Done(loaded.status());
        v1::LoadPluginResponse response;
        if (loaded.ok()) WriteLoaded(*loaded, &response);
        answer.Finish(loaded.status(), response);
      });
}

void ActorService::ListPlugins(const Caller& /*caller*/,
                               v1::ListPluginsRequest& request,
                               UnaryAnswer<v1::ListPluginsResponse> answer) {
  context_.plugin_load_threads.List(
      request.name(),
      [answer](const absl::StatusOr<std::vector<PluginLoadThreads::Version>>&
                   versions) {
        v1::ListPluginsResponse response;
        if (versions.ok()) WriteVersions(*versions, &response);
        answer.Finish(versions.status(), response);
      });
}

}  // namespace actord::daemon
