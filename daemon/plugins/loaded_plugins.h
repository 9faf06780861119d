// The plugins and built-in handlers that a daemon runs with: those of its
// start, and those that were loaded while it ran. None is ever unloaded:
// processes of a former version go on in its code, and commands in its
// handlers.
//
// Thread-safety: Load, LoadVersion and DestroyHandlers from one thread at a
// time; InForce and Versions from any. Ownership: owns the shared objects and
// the handlers; borrows the catalog and the host.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/settings/config.h"
#include "handlers/commands/allowed_directories.h"
#include "handlers/loader/handler_set.h"
#include "handlers/loader/plugin_loader.h"
#include "runtime/process/catalog.h"

namespace actord::daemon {

struct PluginInfo {
  std::string name;
  std::string version;
  std::string path;  // "": built in
};

class LoadedPlugins {
 public:
  // While a daemon runs so many plugins may be loaded, successfully or with an
  // error that leaves code of theirs behind.
  static constexpr size_t kMaxLoads = 1000;

  // Loads what the configuration names, built-in handlers first, and fills the
  // catalog. The error names the file. Call once, and first.
  absl::Status Load(const Config& config, const actord_host* host,
                    runtime::Catalog& catalog);

  struct Loaded {
    PluginInfo plugin;
    std::string replaced_version;  // "": there was no plugin of this name
    std::vector<const runtime::ProcessType*> process_types;
    std::vector<std::string> commands;
  };
  // Loads a plugin from below the configured directories and puts it in force,
  // instead of the version of it that is, if there is one. Errors leave all as
  // it was: PLUGIN_LOADING_OFF, INVALID_FIELD, PLUGIN_NOT_ALLOWED,
  // PLUGIN_NOT_FOUND, PLUGIN_NOT_READABLE, INVALID_PLUGIN, PLUGIN_ABI_VERSION,
  // PLUGIN_IN_FORCE, PLUGIN_CONFLICT, PLUGIN_REFUSED, PLUGIN_LIMIT. Runs code
  // of the plugin and may block.
  absl::StatusOr<Loaded> LoadVersion(const std::string& path,
                                     bool new_processes_only);

  // Destroys the handlers; no command may be running. The code stays loaded
  // until this object is destroyed. Call before the host is gone.
  // The last made go first.
  void DestroyHandlers() {
    while (!handlers_.empty()) handlers_.pop_back();
  }

  // One version of each, sorted by name.
  [[nodiscard]] std::vector<PluginInfo> InForce() const;
  struct Version {
    PluginInfo plugin;
    bool in_force = true;  // the last of its name
    std::vector<const runtime::ProcessType*> process_types;
  };
  // All, sorted by name; of one name, in the order in which they were loaded.
  [[nodiscard]] std::vector<Version> Versions() const;

 private:
  static PluginInfo InfoOf(const handlers::Plugin& plugin,
                           const std::string& path);
  static runtime::CatalogEntries EntriesOf(const handlers::Plugin& plugin);
  absl::Status LoadBuiltin(const Config& config);
  absl::Status LoadAtStart(const std::string& path);
  absl::Status AllowDirectories(const std::vector<std::string>& paths);
  // `found`: its absolute path.
  absl::StatusOr<handlers::UniqueFd> OpenAllowed(const std::string& path,
                                                 std::string& found) const;
  // The plugin in that file, one of plugins_; `is_new`: from now on. Counts
  // what it opens. `found`: as above.
  absl::StatusOr<const handlers::Plugin*> OpenVersion(const std::string& path,
                                                      std::string& found,
                                                      bool& is_new);
  // Whether it may replace what is in force under its name.
  [[nodiscard]] absl::Status CheckName(const PluginInfo& plugin) const;
  // Into the catalog, with the commands of `set`: all or nothing.
  absl::StatusOr<Loaded> Put(const PluginInfo& info,
                             runtime::CatalogEntries entries,
                             handlers::HandlerSet set);

  const actord_host* host_ = nullptr;
  runtime::Catalog* catalog_ = nullptr;
  // Absolute paths, and what was there at the start.
  std::vector<std::string> directories_;
  std::optional<handlers::AllowedDirectories> allowed_;
  size_t loads_ = 0;

  // What was opened while the daemon ran and is no plugin. Its static
  // initialisers may have begun something that needs it, so it stays open, too.
  struct Refused {
    std::unique_ptr<handlers::OpenObject> object;
    absl::Status why;
  };
  // All that were opened.
  std::vector<Refused> refused_;
  std::vector<std::unique_ptr<handlers::Plugin>> plugins_;
  std::vector<handlers::HandlerSet> handlers_;

  mutable absl::Mutex mutex_;
  // In the order in which they were loaded.
  std::vector<Version> versions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
