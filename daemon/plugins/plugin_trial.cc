#include "daemon/plugins/plugin_trial.h"

#include <string_view>

#include "daemon/plugins/loaded_plugins.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::daemon {

absl::Status TryPlugins(const Config& config, Logger& logger) {
  Config trial = config;
  trial.plugin_cache = "memory";
  trial.runtime.log = [&logger](runtime::LogLevel level,
                                std::string_view message) {
    logger.Log(level, message);
  };
  runtime::Catalog catalog;
  // Plugins outlive the runtime, because its objects may have their code.
  LoadedPlugins plugins;
  const auto runtime = runtime::Runtime::Create(trial.runtime, catalog);
  if (!runtime.ok()) return runtime.status();
  absl::Status status =
      plugins.Load(trial, (*runtime)->host(), catalog, /*kept=*/nullptr,
                   /*tries_all=*/true);
  plugins.DestroyHandlers();
  return status;
}

}  // namespace actord::daemon
