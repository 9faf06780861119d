// The plugins and built-in handlers of a daemon, loaded at its start and while
// it runs. No plugin is ever unloaded: processes of a former version continue
// in its code, and commands in its handlers.
//
// Thread-safety: Load, LoadVersion and DestroyHandlers from one thread at a
// time; InForce and Versions from any thread. Ownership: owns the shared
// objects and the handlers; borrows the catalog and the host.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/plugins/kept_plugins.h"
#include "daemon/settings/config.h"
#include "handlers/commands/allowed_directories.h"
#include "handlers/loader/handler_set.h"
#include "handlers/loader/plugin_copies.h"
#include "handlers/loader/plugin_loader.h"
#include "runtime/process/catalog.h"

namespace actord::daemon {

struct PluginInfo {
  std::string name;
  std::string version;
  // Path of the original file; "": built in.
  std::string path;
  // SHA-256 of the file, 64 hexadecimal digits; "": built in.
  std::string digest;
};

class LoadedPlugins {
 public:
  // Maximum number of plugins loaded while a daemon runs, with success or with
  // an error that leaves plugin code loaded.
  static constexpr size_t kMaxLoads = 1000;

  // Loads the configured plugins, built-in handlers first, and fills the
  // catalog. A file with the same content as an earlier one is the same plugin
  // and is skipped. `kept`: keeps the files of plugins with durable types;
  // null: there is no store. The error names the first file that is wrong. With
  // `tries_all` it has a line for each (problem_list.h); then the code of a
  // plugin also runs after another one has failed. Call it once, before all
  // other functions; after an error only DestroyHandlers may follow.
  absl::Status Load(const Config& config, const actord_host* host,
                    runtime::Catalog& catalog, KeptPlugins* kept,
                    bool tries_all = false);
  // Gives the lines of log.write the names of their processes. Before Load.
  void SetNameOf(
      std::function<std::optional<std::string>(const actord_pid&)> name_of) {
    name_of_ = std::move(name_of);
  }
  // Loads the process types of a file that the store keeps, for processes that
  // this version has written. No command of it is in force. An error says what
  // is missing. After Load.
  absl::StatusOr<PluginInfo> LoadKept(runtime::records::PluginNumber number);
  // The same for all versions of the plugin `name` in `used` that are not
  // loaded. `tried` gets each result.
  void LoadKeptOf(
      const std::string& name,
      const absl::flat_hash_set<runtime::records::PluginNumber>& used,
      absl::FunctionRef<void(const absl::StatusOr<PluginInfo>&)> tried);
  // The line of the log about a version that LoadKept has loaded.
  static std::string TextOfKept(const PluginInfo& plugin);

  struct Loaded {
    PluginInfo plugin;
    // "": there was no plugin of this name.
    std::string replaced_version;
    std::vector<const runtime::ProcessType*> process_types;
    std::vector<std::string> commands;
  };
  // Loads a plugin from below the configured directories and puts it in force,
  // instead of its former version, if there is one. An error leaves everything
  // as it was: PLUGIN_LOADING_OFF, INVALID_FIELD, PLUGIN_NOT_ALLOWED,
  // PLUGIN_NOT_FOUND, PLUGIN_NOT_READABLE, INVALID_PLUGIN, PLUGIN_ABI_VERSION,
  // PLUGIN_IN_FORCE, PLUGIN_CONFLICT, PLUGIN_REFUSED, PLUGIN_LIMIT, STORE_FULL,
  // STOPPED. Runs code of the plugin and may block.
  absl::StatusOr<Loaded> LoadVersion(const std::string& path,
                                     bool new_processes_only);

  // The reason why copies of plugins are in memory and not in the configured
  // directory; OK: they are in the directory.
  [[nodiscard]] const absl::Status& CopiesStatus() const {
    return copies_->status();
  }

  LoadedPlugins() = default;
  LoadedPlugins(const LoadedPlugins&) = delete;
  LoadedPlugins& operator=(const LoadedPlugins&) = delete;
  ~LoadedPlugins();

  // Destroys the handlers, the newest first; no command may be running. The
  // code stays loaded until this object is destroyed. Call it before the host
  // is destroyed.
  void DestroyHandlers();

  // The version in force of each plugin, sorted by name.
  [[nodiscard]] std::vector<PluginInfo> InForce() const;
  struct Version {
    PluginInfo plugin;
    // The newest version of its name.
    bool in_force = true;
    std::vector<const runtime::ProcessType*> process_types;
  };
  // All versions, sorted by name; versions of one name in the order of loading.
  [[nodiscard]] std::vector<Version> Versions() const;

 private:
  // The handlers of one plugin.
  struct Handlers {
    PluginInfo plugin;
    handlers::HandlerSet set;
  };

  static PluginInfo InfoOf(const handlers::Plugin& plugin,
                           const std::string& path);
  static runtime::CatalogEntries EntriesOf(const handlers::Plugin& plugin);
  // Keeps the file if the plugin has durable types, and numbers the entries.
  absl::Status Keep(const handlers::Plugin& plugin,
                    runtime::CatalogEntries& entries);
  absl::Status LoadBuiltin(const Config& config);
  absl::Status LoadAtStart(const std::string& path);
  // Copies the open file if nobody else can write it and if its digest is
  // allowed. PERMISSION_DENIED: the file must not be loaded. The errors do not
  // name the file.
  absl::StatusOr<handlers::PluginCopy> CopyAllowed(
      const handlers::UniqueFd& file, const std::string& path) const;
  // nullptr: no plugin with this digest is loaded.
  [[nodiscard]] const handlers::Plugin* FindDigest(
      const std::string& digest) const;
  absl::Status AllowDirectories(const std::vector<std::string>& paths);
  // `found` receives the absolute path.
  absl::StatusOr<handlers::UniqueFd> OpenAllowed(const std::string& path,
                                                 std::string& found) const;
  // Returns the plugin in that file, one of plugins_; `is_new`: it was opened
  // now. Counts the opened files. `found`: as above.
  absl::StatusOr<const handlers::Plugin*> OpenVersion(const std::string& path,
                                                      std::string& found,
                                                      bool& is_new);
  // Checks whether `plugin` may replace the version in force of its name.
  [[nodiscard]] absl::Status CheckName(const PluginInfo& plugin) const;
  // These three functions run code of the plugin. The report of a crash then
  // names the plugin.
  static absl::StatusOr<std::unique_ptr<handlers::Plugin>> OpenPlugin(
      handlers::PluginCopy copy, const std::string& path,
      std::unique_ptr<handlers::OpenObject>* refused = nullptr);
  absl::StatusOr<handlers::HandlerSet> CreateHandlers(
      const handlers::Plugin& plugin) const;
  static void Destroy(Handlers handlers);
  // Adds a version to the catalog, with the commands of `set`: all or nothing.
  absl::StatusOr<Loaded> Put(const PluginInfo& info,
                             runtime::CatalogEntries entries,
                             handlers::HandlerSet set);

  const actord_host* host_ = nullptr;
  std::function<std::optional<std::string>(const actord_pid&)> name_of_;
  runtime::Catalog* catalog_ = nullptr;
  KeptPlugins* kept_ = nullptr;
  // The plugins whose types are in the catalog.
  absl::flat_hash_set<runtime::records::PluginNumber> numbers_;
  // Directories by their absolute paths, opened at the start.
  std::vector<std::string> directories_;
  std::optional<handlers::AllowedDirectories> allowed_;
  std::optional<handlers::PluginCopies> copies_;
  // Empty: all plugins are allowed.
  std::vector<std::string> allowed_digests_;
  size_t loads_ = 0;

  // Shared objects that were opened while the daemon ran and are not plugins.
  // They stay open, because their static initialisers may have started
  // something that needs them.
  struct Refused {
    std::unique_ptr<handlers::OpenObject> object;
    absl::Status why;
    std::string path;
  };
  // Number of opened files.
  std::vector<Refused> refused_;
  std::vector<std::unique_ptr<handlers::Plugin>> plugins_;
  std::vector<Handlers> handlers_;

  mutable absl::Mutex mutex_;
  // In the order of loading.
  std::vector<Version> versions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
