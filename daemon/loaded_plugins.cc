#include "daemon/loaded_plugins.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "daemon/version.h"
#include "handlers/builtin_handlers.h"

namespace actord::daemon {
namespace {

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("plugin ", path, ": ", status.message()));
}

// The *.so of a directory, sorted by name.
absl::StatusOr<std::vector<std::string>> ListPlugins(
    const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  for (; !error && entries != std::filesystem::directory_iterator();
       entries.increment(error)) {
    if (entries->path().extension() == ".so") {
      paths.push_back(entries->path().string());
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin directory ", directory, ": ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::Status AddHandlers(const handlers::HandlerSet& set,
                         std::string_view plugin, runtime::Catalog& catalog) {
  for (const handlers::HandlerInstance& handler : set.instances()) {
    absl::Status status =
        catalog.AddCommand(handler.descriptor, handler.self, plugin);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadedPlugins::Load(const Config& config, const actord_host* host,
                                 runtime::Catalog& catalog) {
  absl::Status status = LoadBuiltin(config, host, catalog);
  std::vector<std::string> paths = config.plugins;
  for (const std::string& directory : config.plugin_dirs) {
    if (!status.ok()) return status;
    const auto found = ListPlugins(directory);
    if (!found.ok()) return found.status();
    paths.insert(paths.end(), found->begin(), found->end());
  }
  for (const std::string& path : paths) {
    if (!status.ok()) return status;
    status = LoadFile(path, host, catalog);
  }
  std::sort(
      infos_.begin(), infos_.end(),
      [](const PluginInfo& a, const PluginInfo& b) { return a.name < b.name; });
  return status;
}

absl::Status LoadedPlugins::LoadBuiltin(const Config& config,
                                        const actord_host* host,
                                        runtime::Catalog& catalog) {
  const handlers::BuiltinOptions options{
      .file_read_directories = config.file_read_dirs,
      .file_read_max_bytes = config.runtime.max_payload_bytes};
  auto set = handlers::CreateBuiltinHandlers(options, host);
  if (!set.ok()) return set.status();
  infos_.push_back({std::string(handlers::kBuiltinPlugin), kActordVersion, ""});
  for (const actord_process_type* type : handlers::BuiltinProcessTypes()) {
    const absl::Status status =
        catalog.AddProcessType(type, handlers::kBuiltinPlugin);
    if (!status.ok()) return status;
  }
  // Kept whatever comes next, so that the catalog never points at what is gone.
  handlers_.push_back(*std::move(set));
  return AddHandlers(handlers_.back(), handlers::kBuiltinPlugin, catalog);
}

absl::Status LoadedPlugins::LoadFile(const std::string& path,
                                     const actord_host* host,
                                     runtime::Catalog& catalog) {
  auto loaded = handlers::Plugin::Load(path);
  if (!loaded.ok()) return loaded.status();
  plugins_.push_back(*std::move(loaded));
  const handlers::Plugin& plugin = *plugins_.back();
  const std::string name = plugin.info().name;
  for (const PluginInfo& other : infos_) {
    if (other.name != name) continue;
    return InFile(path, absl::AlreadyExistsError(absl::StrCat(
                            "its name '", name, "' is taken by ",
                            other.path.empty() ? "the daemon" : other.path)));
  }
  const char* const version = plugin.info().version;
  infos_.push_back({name, version == nullptr ? "" : version, path});
  for (const actord_process_type* type : plugin.process_types()) {
    const absl::Status status = catalog.AddProcessType(type, name);
    if (!status.ok()) return InFile(path, status);
  }
  auto set = plugin.CreateHandlers(host);
  if (!set.ok()) return InFile(path, set.status());
  handlers_.push_back(*std::move(set));
  const absl::Status status = AddHandlers(handlers_.back(), name, catalog);
  if (!status.ok()) return InFile(path, status);
  return absl::OkStatus();
}

}  // namespace actord::daemon
