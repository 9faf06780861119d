// Plugins that are loaded while the daemon runs.
#include "daemon/calls/actor_service.h"
#include "daemon/calls/unary_call.h"
#include "daemon/plugins/plugin_loading.h"
#include "daemon/wire/proto_plugins.h"

namespace actord::daemon {

ActorService::Reactor* ActorService::LoadPlugin(Context* call, const Bytes* in,
                                                Bytes* out) {
  Reactor* const reactor = call->DefaultReactor();
  v1::LoadPluginRequest request;
  const absl::Status status = ReadMessage(*in, &request);
  if (!status.ok()) {
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }
  // Goes on whatever becomes of the client: a plugin is not loaded by halves.
  context_.plugin_loading.Load(
      request.path(), request.new_processes_only(),
      [out, reactor](const absl::StatusOr<PluginLoading::Loaded>& loaded) {
        v1::LoadPluginResponse response;
        if (loaded.ok()) WriteLoaded(*loaded, &response);
        FinishCall(loaded.status(), response, out, reactor);
      });
  return reactor;
}

ActorService::Reactor* ActorService::ListPlugins(Context* call, const Bytes* in,
                                                 Bytes* out) {
  Reactor* const reactor = call->DefaultReactor();
  v1::ListPluginsRequest request;
  const absl::Status status = ReadMessage(*in, &request);
  if (!status.ok()) {
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }
  context_.plugin_loading.List(
      request.name(),
      [out, reactor](
          const absl::StatusOr<std::vector<PluginLoading::Version>>& versions) {
        v1::ListPluginsResponse response;
        if (versions.ok()) WriteVersions(*versions, &response);
        FinishCall(versions.status(), response, out, reactor);
      });
  return reactor;
}

}  // namespace actord::daemon
