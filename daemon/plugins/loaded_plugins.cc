#include "daemon/plugins/loaded_plugins.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "daemon/problems/problem_list.h"
#include "daemon/settings/version.h"
#include "handlers/builtin_handlers.h"
#include "runtime/crash/running_code.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

using runtime::PluginScope;

constexpr std::string_view kStaticDestructors = "static destructors";

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("plugin ", path, ": ", status.message()));
}

// The directory for copies of plugins; "": in memory. systemd sets
// CACHE_DIRECTORY, a list separated by colons, for CacheDirectory=.
std::string CacheDirectory(const Config& config) {
  if (config.plugin_cache == "memory") return "";
  if (!config.plugin_cache.empty()) return config.plugin_cache;
  const Environment variables = SystemEnvironment();
  const auto below = [&](const char* name, std::string_view path) {
    const std::string value = variables(name).value_or("");
    const std::string first = value.substr(0, value.find(':'));
    return first.starts_with('/') ? first + std::string(path) : std::string();
  };
  std::string directory = below("CACHE_DIRECTORY", "/plugins");
  if (directory.empty()) directory = below("XDG_CACHE_HOME", "/actord/plugins");
  if (directory.empty()) directory = below("HOME", "/.cache/actord/plugins");
  return directory;
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

}  // namespace

absl::Status LoadedPlugins::Load(const Config& config, const actord_host* host,
                                 runtime::Catalog& catalog, KeptPlugins* kept,
                                 bool tries_all) {
  host_ = host;
  catalog_ = &catalog;
  kept_ = kept;
  copies_.emplace(CacheDirectory(config));
  allowed_digests_ = config.plugin_digests;
  ProblemList problems;
  problems.Add(LoadBuiltin(config));
  std::vector<std::string> paths = config.plugins;
  for (const std::string& directory : config.plugin_dirs) {
    const auto found = ListPlugins(directory);
    problems.Add(found.status());
    if (found.ok()) paths.insert(paths.end(), found->begin(), found->end());
  }
  for (const std::string& path : paths) {
    if (!problems.empty() && !tries_all) break;
    problems.Add(LoadAtStart(path));
  }
  if (problems.empty()) problems.Add(AllowDirectories(config.plugin_dirs));
  return problems.status();
}

absl::Status LoadedPlugins::AllowDirectories(
    const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    directories_.push_back(std::filesystem::absolute(path, error).string());
    if (error) return absl::InvalidArgumentError(error.message());
  }
  auto allowed = handlers::AllowedDirectories::Open(directories_);
  if (!allowed.ok()) return allowed.status();
  allowed_ = *std::move(allowed);
  return absl::OkStatus();
}

absl::Status LoadedPlugins::LoadBuiltin(const Config& config) {
  const handlers::BuiltinOptions options{
      .file_read_directories = config.file_read_dirs,
      .file_read_max_bytes = config.runtime.max_payload_bytes,
      .name_of = name_of_};
  auto set = handlers::CreateBuiltinHandlers(options, host_);
  if (!set.ok()) return set.status();
  const PluginInfo info{std::string(handlers::kBuiltinPlugin), kActordVersion,
                        "", ""};
  return Put(info,
             {.plugin = info.name,
              .version = info.version,
              .process_types = handlers::BuiltinProcessTypes()},
             *std::move(set))
      .status();
}

absl::Status LoadedPlugins::LoadAtStart(const std::string& path) {
  const auto file = handlers::OpenPluginFile(path);
  if (!file.ok()) return InFile(path, file.status());
  auto copy = CopyAllowed(*file, path);
  if (!copy.ok()) return InFile(path, copy.status());
  if (FindDigest(copy->digest) != nullptr) return absl::OkStatus();
  auto loaded = OpenPlugin(*std::move(copy), path);
  if (!loaded.ok()) return loaded.status();
  plugins_.push_back(*std::move(loaded));
  const handlers::Plugin& plugin = *plugins_.back();
  for (const PluginInfo& other : InForce()) {
    if (other.name != plugin.info().name) continue;
    return InFile(path, absl::AlreadyExistsError(absl::StrCat(
                            "its name '", other.name, "' is taken by ",
                            other.path.empty() ? "the daemon" : other.path)));
  }
  auto set = CreateHandlers(plugin);
  if (!set.ok()) return InFile(path, set.status());
  runtime::CatalogEntries entries = EntriesOf(plugin);
  const absl::Status kept = Keep(plugin, entries);
  if (!kept.ok()) return InFile(path, kept);
  const auto put =
      Put(InfoOf(plugin, path), std::move(entries), *std::move(set)).status();
  return put.ok() ? put : InFile(path, put);
}

absl::StatusOr<std::unique_ptr<handlers::Plugin>> LoadedPlugins::OpenPlugin(
    handlers::PluginCopy copy, const std::string& path,
    std::unique_ptr<handlers::OpenObject>* refused) {
  const PluginScope scope(
      {.file = path, .function = "static initialisers or table"});
  return handlers::Plugin::Load(std::move(copy), path, refused);
}

absl::StatusOr<handlers::HandlerSet> LoadedPlugins::CreateHandlers(
    const handlers::Plugin& plugin) const {
  const PluginScope scope({.plugin = plugin.info().name,
                           .version = plugin.info().version,
                           .function = "create of a command handler"});
  return plugin.CreateHandlers(host_);
}

void LoadedPlugins::Destroy(Handlers handlers) {
  const PluginScope scope({.plugin = handlers.plugin.name,
                           .version = handlers.plugin.version,
                           .function = "destroy of a command handler"});
  handlers.set = handlers::HandlerSet(nullptr);
}

void LoadedPlugins::DestroyHandlers() {
  while (!handlers_.empty()) {
    Destroy(std::move(handlers_.back()));
    handlers_.pop_back();
  }
}

LoadedPlugins::~LoadedPlugins() {
  DestroyHandlers();
  for (auto& plugin : plugins_) {
    // Copied, because the plugin's own texts disappear with its code.
    const std::string name = plugin->info().name;
    const std::string version = plugin->info().version;
    const PluginScope scope(
        {.plugin = name, .version = version, .function = kStaticDestructors});
    plugin.reset();
  }
  for (Refused& refused : refused_) {
    const PluginScope scope(
        {.file = refused.path, .function = kStaticDestructors});
    refused.object.reset();
  }
}

PluginInfo LoadedPlugins::InfoOf(const handlers::Plugin& plugin,
                                 const std::string& path) {
  return {plugin.info().name, plugin.info().version, path, plugin.digest()};
}

absl::StatusOr<handlers::PluginCopy> LoadedPlugins::CopyAllowed(
    const handlers::UniqueFd& file, const std::string& path) const {
  absl::Status status = handlers::CheckOnlyOwnersWrite(file.get());
  if (!status.ok()) return status;
  auto copy = copies_->Copy(file.get(), path);
  if (!copy.ok() || allowed_digests_.empty()) return copy;
  if (std::find(allowed_digests_.begin(), allowed_digests_.end(),
                copy->digest) != allowed_digests_.end()) {
    return copy;
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "its SHA-256 is ", copy->digest, ", which plugins.sha256 does not list"));
}

const handlers::Plugin* LoadedPlugins::FindDigest(
    const std::string& digest) const {
  for (const auto& plugin : plugins_) {
    if (plugin->digest() == digest) return plugin.get();
  }
  return nullptr;
}

runtime::CatalogEntries LoadedPlugins::EntriesOf(
    const handlers::Plugin& plugin) {
  return {.plugin = plugin.info().name,
          .version = plugin.info().version,
          .digest = plugin.digest(),
          .process_types = {plugin.process_types().begin(),
                            plugin.process_types().end()}};
}

absl::StatusOr<LoadedPlugins::Loaded> LoadedPlugins::Put(
    const PluginInfo& info, runtime::CatalogEntries entries,
    handlers::HandlerSet set) {
  Loaded loaded;
  loaded.plugin = info;
  for (const handlers::HandlerInstance& handler : set.instances()) {
    entries.commands.push_back({handler.descriptor, handler.self});
  }
  auto types = catalog_->Add(entries);
  if (!types.ok()) {
    Destroy({info, std::move(set)});
    return types.status();
  }
  // The catalog points to the handlers from now on.
  handlers_.push_back({info, std::move(set)});
  for (const auto& command : entries.commands) {
    loaded.commands.emplace_back(command.descriptor->command);
  }
  loaded.process_types = *std::move(types);
  for (const runtime::ProcessType* type : loaded.process_types) {
    ACTORD_ASSERT(kept_ == nullptr || info.digest.empty() ||
                      !type->can_be_durable() || type->plugin_number != 0,
                  "kept_plugins.h: a plugin has its number before a type is "
                  "in force");
  }
  const absl::MutexLock lock(&mutex_);
  for (Version& version : versions_) {
    if (version.plugin.name != info.name || !version.in_force) continue;
    version.in_force = false;
    loaded.replaced_version = version.plugin.version;
  }
  versions_.push_back({info, true, loaded.process_types});
  return loaded;
}

std::vector<PluginInfo> LoadedPlugins::InForce() const {
  std::vector<PluginInfo> infos;
  for (Version& version : Versions()) {
    if (version.in_force) infos.push_back(std::move(version.plugin));
  }
  return infos;
}

std::vector<LoadedPlugins::Version> LoadedPlugins::Versions() const {
  std::vector<Version> versions;
  {
    const absl::MutexLock lock(&mutex_);
    versions = versions_;
  }
  std::stable_sort(versions.begin(), versions.end(),
                   [](const Version& a, const Version& b) {
                     return a.plugin.name < b.plugin.name;
                   });
  return versions;
}

}  // namespace actord::daemon
