// The plugins and built-in handlers that a daemon runs with.
//
// Thread-safety: built and destroyed by the thread that composes the daemon,
// constant in between. Ownership: owns the shared objects and the handlers;
// borrows the catalog and the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/config.h"
#include "handlers/handler_set.h"
#include "handlers/plugin_loader.h"
#include "runtime/catalog.h"

namespace actord::daemon {

struct PluginInfo {
  std::string name;
  std::string version;
  std::string path;  // "": built in
};

class LoadedPlugins {
 public:
  // Loads what the configuration names, built-in handlers first, and fills the
  // catalog. The error names the file. Call once.
  absl::Status Load(const Config& config, const actord_host* host,
                    runtime::Catalog& catalog);

  // Destroys the handlers; no command may be running. The code stays loaded
  // until this object is destroyed. Call before the host is gone.
  void DestroyHandlers() { handlers_.clear(); }

  // Sorted by name.
  [[nodiscard]] const std::vector<PluginInfo>& infos() const { return infos_; }

 private:
  absl::Status LoadBuiltin(const Config& config, const actord_host* host,
                           runtime::Catalog& catalog);
  absl::Status LoadFile(const std::string& path, const actord_host* host,
                        runtime::Catalog& catalog);

  std::vector<std::unique_ptr<handlers::Plugin>> plugins_;
  std::vector<handlers::HandlerSet> handlers_;
  std::vector<PluginInfo> infos_;
};

}  // namespace actord::daemon
