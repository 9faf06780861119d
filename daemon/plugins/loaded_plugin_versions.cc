// Loads a plugin, or a new version of a plugin, while the daemon runs, and the
// versions that a store keeps.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/plugins/loaded_plugins.h"
#include "handlers/builtin_handlers.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

namespace reason = runtime::reason;
using runtime::Error;
using runtime::InvalidField;

constexpr size_t kMaxPathBytes = 4096;

std::string_view TextOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

absl::Status Invalid(std::string_view reason, std::string_view text) {
  return InvalidField("path", reason, text);
}

// Maps an error of AllowedDirectories.
absl::Status OpenError(const Status& status) {
  switch (status.code()) {
    case Code::kNotFound:
      return Error(absl::StatusCode::kNotFound, reason::kPluginNotFound,
                   absl::StrCat(status.message(),
                                "; a relative path begins in a plugin "
                                "directory of the daemon"));
    case Code::kPermissionDenied:
      return Error(absl::StatusCode::kPermissionDenied,
                   reason::kPluginNotAllowed, status.message());
    case Code::kInvalidArgument:
      return Invalid(reason::kInvalidField, status.message());
    default:
      return Error(absl::StatusCode::kFailedPrecondition,
                   reason::kPluginNotReadable, status.message());
  }
}

// Maps an error of CopyAllowed.
absl::Status CopyError(const std::string& path, const absl::Status& status) {
  const std::string text =
      absl::StrCat("plugin '", path, "': ", status.message());
  if (absl::IsPermissionDenied(status)) {
    return Error(absl::StatusCode::kPermissionDenied, reason::kPluginNotAllowed,
                 text);
  }
  if (absl::IsResourceExhausted(status)) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 reason::kPluginNotReadable, text);
  }
  return Invalid(reason::kInvalidPlugin, text);
}

// Maps an error of the loader.
absl::Status LoadError(const absl::Status& status) {
  if (absl::IsFailedPrecondition(status)) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 reason::kPluginAbiVersion, TextOf(status));
  }
  return Invalid(reason::kInvalidPlugin, TextOf(status));
}

// Maps an error of the catalog.
absl::Status PutError(const std::string& path, const absl::Status& status) {
  const std::string text =
      absl::StrCat("plugin '", path, "': ", status.message());
  if (absl::IsAlreadyExists(status)) {
    return Error(absl::StatusCode::kAlreadyExists, reason::kPluginConflict,
                 text);
  }
  return Invalid(reason::kInvalidPlugin, text);
}

// Maps an error of KeptPlugins.
absl::Status KeepError(const std::string& path, const absl::Status& status) {
  const std::string text =
      absl::StrCat("plugin '", path, "': ", status.message());
  if (absl::IsUnavailable(status)) {
    return runtime::Retryable(absl::StatusCode::kUnavailable, reason::kStopped,
                              text, absl::Seconds(1));
  }
  if (absl::IsResourceExhausted(status)) {
    return runtime::Retryable(absl::StatusCode::kResourceExhausted,
                              reason::kStoreFull, text, absl::Seconds(10));
  }
  return Error(absl::StatusCode::kFailedPrecondition,
               reason::kPluginNotReadable, text);
}

}  // namespace

absl::Status LoadedPlugins::Keep(const handlers::Plugin& plugin,
                                 runtime::CatalogEntries& entries) {
  if (kept_ == nullptr || !plugin.has_durable_types()) return absl::OkStatus();
  const absl::StatusOr<handlers::UniqueFd> file = plugin.OpenCopy();
  if (!file.ok()) return file.status();
  auto number = kept_->Keep(plugin.info().name, plugin.info().version,
                            plugin.digest(), file->get());
  if (!number.ok()) return number.status();
  entries.plugin_number = *number;
  numbers_.insert(*number);
  return absl::OkStatus();
}

void LoadedPlugins::LoadKeptOf(
    const std::string& name,
    const absl::flat_hash_set<runtime::records::PluginNumber>& used,
    absl::FunctionRef<void(const absl::StatusOr<PluginInfo>&)> tried) {
  for (const runtime::records::PluginNumber number : used) {
    if (kept_ == nullptr || numbers_.contains(number)) continue;
    const auto kept = kept_->Find(number);
    if (!kept.ok() || kept->name != name) continue;
    tried(LoadKept(number));
  }
}

std::string LoadedPlugins::TextOfKept(const PluginInfo& plugin) {
  return absl::StrCat("plugin ", plugin.name, " ", plugin.version,
                      " loaded from ", plugin.path,
                      ", because processes of the store are of this version");
}

absl::StatusOr<PluginInfo> LoadedPlugins::LoadKept(
    runtime::records::PluginNumber number) {
  const auto kept = kept_->Find(number);
  if (!kept.ok()) return kept.status();
  const auto fails = [&](const absl::Status& why) {
    return absl::Status(
        why.code(),
        absl::StrCat("version ", kept->version, " of plugin ", kept->name,
                     " is not loaded from ", kept->path, ": ", why.message()));
  };
  const handlers::Plugin* plugin = FindDigest(kept->digest);
  if (plugin == nullptr) {
    const auto file = handlers::OpenPluginFile(kept->path);
    if (!file.ok()) return fails(file.status());
    auto copy = CopyAllowed(*file, kept->path);
    if (!copy.ok()) return fails(copy.status());
    if (copy->digest != kept->digest) {
      return fails(absl::DataLossError(
          absl::StrCat("the file is damaged: its SHA-256 is ", copy->digest)));
    }
    auto loaded = OpenPlugin(*std::move(copy), kept->path);
    if (!loaded.ok()) return fails(loaded.status());
    plugins_.push_back(*std::move(loaded));
    plugin = plugins_.back().get();
  }
  runtime::CatalogEntries entries = EntriesOf(*plugin);
  entries.plugin_number = number;
  auto types = catalog_->AddFormer(entries);
  if (!types.ok()) return fails(types.status());
  numbers_.insert(number);
  PluginInfo info = InfoOf(*plugin, kept->path);
  const absl::MutexLock lock(&mutex_);
  versions_.push_back({info, false, *std::move(types)});
  return info;
}

absl::StatusOr<handlers::UniqueFd> LoadedPlugins::OpenAllowed(
    const std::string& path, std::string& found) const {
  if (directories_.empty()) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 reason::kPluginLoadThreadsOff,
                 "plugins.directories (--plugin-dir) is empty; only plugins "
                 "in one of its directories are loaded at run time. Start the "
                 "daemon with it; processes in quarantine wait meanwhile");
  }
  if (path.empty() || path.size() > kMaxPathBytes) {
    return Invalid(reason::kInvalidField,
                   absl::StrCat("a path of ", path.size(),
                                " bytes; it must have 1 to ", kMaxPathBytes));
  }
  handlers::UniqueFd file;
  if (path.starts_with('/')) {
    found = path;
    const Status status = allowed_->OpenFile(found, file);
    if (status.ok()) return file;
    const absl::Status error = OpenError(status);
    if (status.code() != Code::kPermissionDenied) return error;
    return Error(error.code(), runtime::ReasonOf(error),
                 absl::StrCat(error.message(), "; the directories are ",
                              absl::StrJoin(directories_, ", ")));
  }
  Status status;
  for (const std::string& directory : directories_) {
    found = absl::StrCat(directory, "/", path);
    status = allowed_->OpenFile(found, file);
    if (status.ok()) return file;
    if (status.code() != Code::kNotFound) break;
  }
  return OpenError(status);
}

absl::StatusOr<const handlers::Plugin*> LoadedPlugins::OpenVersion(
    const std::string& path, std::string& found, bool& is_new) {
  absl::StatusOr<handlers::UniqueFd> file = OpenAllowed(path, found);
  if (!file.ok()) return file.status();
  auto copy = CopyAllowed(*file, found);
  if (!copy.ok()) return CopyError(found, copy.status());
  if (const auto* const plugin = FindDigest(copy->digest)) return plugin;
  for (const Refused& refused : refused_) {
    if (refused.object->digest() == copy->digest) return refused.why;
  }
  std::unique_ptr<handlers::OpenObject> refused;
  auto loaded = OpenPlugin(*std::move(copy), found, &refused);
  // A file that the linker refused has run no code, and is closed.
  if (loaded.ok() || refused != nullptr) ++loads_;
  if (!loaded.ok()) {
    const absl::Status why = LoadError(loaded.status());
    if (refused != nullptr) {
      refused_.push_back({std::move(refused), why, found});
    }
    return why;
  }
  is_new = true;
  plugins_.push_back(*std::move(loaded));
  return plugins_.back().get();
}

absl::Status LoadedPlugins::CheckName(const PluginInfo& plugin) const {
  for (const PluginInfo& other : InForce()) {
    if (other.name != plugin.name) continue;
    if (other.path.empty()) {
      return Error(absl::StatusCode::kAlreadyExists, reason::kPluginConflict,
                   absl::StrCat("plugin '", plugin.path, "': its name '",
                                plugin.name, "' is taken by the daemon"));
    }
    if (other.version == plugin.version) {
      return Error(
          absl::StatusCode::kAlreadyExists, reason::kPluginInForce,
          absl::StrCat("version ", other.version, " of plugin ", other.name,
                       " is in force, loaded from ", other.path,
                       "; give the new version a new version number"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedPlugins::Loaded> LoadedPlugins::LoadVersion(
    const std::string& path, bool new_processes_only) {
  if (loads_ == kMaxLoads) {
    return Error(absl::StatusCode::kResourceExhausted, reason::kPluginLimit,
                 absl::StrCat("plugins were loaded ", kMaxLoads,
                              " times since the daemon's start, the limit; "
                              "restart the daemon"));
  }
  std::string found;
  bool is_new = false;
  const absl::StatusOr<const handlers::Plugin*> opened =
      OpenVersion(path, found, is_new);
  if (!opened.ok()) return opened.status();
  const handlers::Plugin& plugin = **opened;
  const PluginInfo info = InfoOf(plugin, found);
  absl::Status status = CheckName(info);
  if (!status.ok()) return status;
  // The new version gets handlers of its own.
  if (!is_new) ++loads_;
  auto set = CreateHandlers(plugin);
  if (!set.ok()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reason::kPluginRefused,
        absl::StrCat("plugin '", found, "': ", set.status().message()));
  }
  runtime::CatalogEntries entries = EntriesOf(plugin);
  entries.replace = true;
  entries.upgrade_processes = !new_processes_only;
  status = Keep(plugin, entries);
  if (!status.ok()) return KeepError(found, status);
  auto loaded = Put(info, std::move(entries), *std::move(set));
  if (!loaded.ok()) return PutError(found, loaded.status());
  return loaded;
}

}  // namespace actord::daemon
