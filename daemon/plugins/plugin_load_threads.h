// Loads plugins while the daemon runs, and lists them with their upgrades, on
// its own threads: opening a plugin runs its code, and a walk over all
// processes takes time.
//
// Thread-safety: Load and List from any thread, Stop from one. Ownership:
// borrows all its arguments.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/log/logging.h"
#include "daemon/plugins/loaded_plugins.h"
#include "runtime/effects/blocking_pool.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class PluginLoadThreads {
 public:
  // Maximum number of waiting loads; waiting lists have the same limit.
  static constexpr size_t kMaxWaiting = 64;

  PluginLoadThreads(LoadedPlugins& plugins, runtime::Runtime& runtime,
                    Logger& logger)
      : plugins_(plugins), runtime_(runtime), logger_(logger) {}
  PluginLoadThreads(const PluginLoadThreads&) = delete;
  PluginLoadThreads& operator=(const PluginLoadThreads&) = delete;

  struct Loaded {
    LoadedPlugins::Loaded plugin;
    // Live processes of former versions.
    uint64_t told = 0;
  };
  // Load and List call back exactly once. Errors: PLUGIN_LOADER_BUSY for a call
  // that is refused or dropped, DRAINING, and the errors of LoadVersion.
  using LoadDone = absl::AnyInvocable<void(absl::StatusOr<Loaded>) &&>;
  void Load(std::string path, bool new_processes_only, LoadDone done);

  struct TypeVersion {
    const runtime::ProcessType* type = nullptr;
    uint64_t live = 0;
    // Processes of former versions that have still to upgrade to this version.
    uint64_t to_come = 0;
  };
  struct Version {
    PluginInfo plugin;
    bool in_force = false;
    std::vector<TypeVersion> process_types;
  };
  using ListDone =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<Version>>) &&>;
  // Lists the plugin of this name; "": all plugins.
  void List(std::string name, ListDone done);

  // Refuses waiting and new calls, and waits for the running call. False: that
  // call has not finished after `timeout`.
  bool Stop(absl::Duration timeout);

 private:
  absl::StatusOr<Loaded> LoadNow(const std::string& path,
                                 bool new_processes_only);
  // Returns the number of processes told.
  uint64_t TellProcesses(const LoadedPlugins::Loaded& loaded);
  // Retries the processes in quarantine whose types were loaded. The log has
  // the results.
  void RetryQuarantine(const LoadedPlugins::Loaded& loaded);
  std::vector<Version> ListNow(const std::string& name) const;

  LoadedPlugins& plugins_;
  runtime::Runtime& runtime_;
  Logger& logger_;
  std::atomic<bool> stopping_{false};
  runtime::BlockingPool loads_{1, kMaxWaiting};
  runtime::BlockingPool lists_{1, kMaxWaiting};
};

}  // namespace actord::daemon
