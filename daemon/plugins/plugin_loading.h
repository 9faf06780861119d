// Loads plugins while the daemon runs, and says what has become of them, on
// threads of its own: code of a plugin runs when it is opened, and a walk over
// all processes takes its time.
//
// Thread-safety: Load and List from any thread, Stop from one. Ownership:
// borrows all that it is given.
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

class PluginLoading {
 public:
  // Loads and lists wait for their turn, so many of each at most.
  static constexpr size_t kMaxWaiting = 64;

  PluginLoading(LoadedPlugins& plugins, runtime::Runtime& runtime,
                Logger& logger)
      : plugins_(plugins), runtime_(runtime), logger_(logger) {}
  PluginLoading(const PluginLoading&) = delete;
  PluginLoading& operator=(const PluginLoading&) = delete;

  struct Loaded {
    LoadedPlugins::Loaded plugin;
    uint64_t told = 0;  // processes that live with former versions
  };
  // Each calls back once, also when it does not come to its turn:
  // PLUGIN_LOADER_BUSY. DRAINING, and the errors of LoadVersion.
  using LoadDone = absl::AnyInvocable<void(absl::StatusOr<Loaded>) &&>;
  void Load(std::string path, bool new_processes_only, LoadDone done);

  struct TypeVersion {
    const runtime::ProcessType* type = nullptr;
    uint64_t live = 0;
    uint64_t to_come = 0;  // of former versions, that are to become this one
  };
  struct Version {
    PluginInfo plugin;
    bool in_force = false;
    std::vector<TypeVersion> process_types;
  };
  using ListDone =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<Version>>) &&>;
  // Of the plugin of this name; "": of all.
  void List(std::string name, ListDone done);

  // Refuses what waits, and what comes, and waits for what is under way. False:
  // it is not done after `timeout`.
  bool Stop(absl::Duration timeout);

 private:
  absl::StatusOr<Loaded> LoadNow(const std::string& path,
                                 bool new_processes_only);
  // Returns how many.
  uint64_t TellProcesses(const LoadedPlugins::Loaded& loaded);
  std::vector<Version> ListNow(const std::string& name) const;

  LoadedPlugins& plugins_;
  runtime::Runtime& runtime_;
  Logger& logger_;
  std::atomic<bool> stopping_{false};
  runtime::BlockingPool loads_{1, kMaxWaiting};
  runtime::BlockingPool lists_{1, kMaxWaiting};
};

}  // namespace actord::daemon
