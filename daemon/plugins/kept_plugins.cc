#include "daemon/plugins/kept_plugins.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace actord::daemon {

using runtime::records::PluginNumber;

absl::StatusOr<std::unique_ptr<KeptPlugins>> KeptPlugins::Open(
    runtime::OpenedStore& store, const std::string& directory,
    runtime::FileSystem& files) {
  std::unique_ptr<KeptPlugins> kept(new KeptPlugins(store, directory, files));
  absl::Status status =
      store.ForEachPlugin([&](runtime::records::Plugin&& plugin) {
        const PluginNumber number = plugin.number;
        kept->plugins_.emplace(number, std::move(plugin));
      });
  if (!status.ok()) return status;
  return kept;
}

absl::StatusOr<PluginNumber> KeptPlugins::Keep(const std::string& name,
                                               const std::string& version,
                                               const std::string& digest,
                                               int file) {
  struct stat about = {};
  if (fstat(file, &about) != 0) {
    return runtime::IoError(errno, "fstat", "the plugin");
  }
  absl::Status status =
      files_.Keep(digest, static_cast<uint64_t>(about.st_size),
                  [file](uint64_t offset, size_t bytes,
                         char* into) -> absl::StatusOr<size_t> {
                    for (;;) {
                      const ssize_t read =
                          pread(file, into, bytes, static_cast<off_t>(offset));
                      if (read >= 0) return static_cast<size_t>(read);
                      if (errno != EINTR) {
                        return runtime::IoError(errno, "pread", "the plugin");
                      }
                    }
                  });
  if (!status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat("the store cannot keep the file: ", status.message()));
  }
  const std::string sha256 = absl::HexStringToBytes(digest);
  for (const auto& [number, plugin] : plugins_) {
    if (plugin.sha256 != sha256) continue;
    loaded_.insert(number);
    return number;
  }
  const PluginNumber number =
      plugins_.empty() ? 1 : plugins_.rbegin()->first + 1;
  runtime::records::Plugin plugin{
      .number = number, .name = name, .version = version, .sha256 = sha256};
  status = store_.KeepPlugin(plugin);
  if (!status.ok()) return status;
  plugins_.emplace(number, std::move(plugin));
  loaded_.insert(number);
  return number;
}

absl::StatusOr<KeptPlugins::Kept> KeptPlugins::Find(PluginNumber number) const {
  const auto plugin = plugins_.find(number);
  if (plugin == plugins_.end()) {
    return absl::NotFoundError(
        absl::StrCat("the store knows no plugin with number ", number));
  }
  Kept kept{.name = plugin->second.name,
            .version = plugin->second.version,
            .digest = absl::BytesToHexString(plugin->second.sha256),
            .path = {}};
  kept.path = files_.PathOf(kept.digest);
  return kept;
}

void KeptPlugins::RemoveUnused(const absl::flat_hash_set<PluginNumber>& used,
                               size_t most, Logger& logger) {
  const absl::StatusOr<std::vector<std::string>> present = files_.List();
  if (!present.ok()) {
    return logger.Warning(absl::StrCat("the plugin files of the store: ",
                                       present.status().message()));
  }
  size_t unused = 0;
  // The newest first.
  for (auto plugin = plugins_.rbegin(); plugin != plugins_.rend(); ++plugin) {
    const auto& [number, known] = *plugin;
    const std::string digest = absl::BytesToHexString(known.sha256);
    if (used.contains(number) || loaded_.contains(number) ||
        !std::binary_search(present->begin(), present->end(), digest) ||
        ++unused <= most) {
      continue;
    }
    Remove(digest,
           absl::StrCat("the file of plugin ", known.name, " ", known.version,
                        ", SHA-256 ", digest,
                        ", of which the store has no process"),
           logger);
  }
  RemoveUnnumbered(used, *present, logger);
}

void KeptPlugins::Remove(const std::string& digest, const std::string& what,
                         Logger& logger) {
  const absl::Status removed = files_.Remove(digest);
  if (removed.ok()) {
    logger.Info(absl::StrCat("removed ", what));
  } else {
    logger.Warning(
        absl::StrCat("cannot remove ", what, ": ", removed.message()));
  }
}

void KeptPlugins::RemoveUnnumbered(
    const absl::flat_hash_set<PluginNumber>& used,
    const std::vector<std::string>& present, Logger& logger) {
  for (const PluginNumber number : used) {
    if (plugins_.contains(number)) continue;
    return logger.Warning(absl::StrCat(
        "processes of the store are of plugin number ", number,
        ", which the store does not know, so no plugin file without a number "
        "is removed"));
  }
  absl::flat_hash_set<std::string> numbered;
  for (const auto& [number, plugin] : plugins_) {
    numbered.insert(absl::BytesToHexString(plugin.sha256));
  }
  for (const std::string& digest : present) {
    if (numbered.contains(digest)) continue;
    Remove(digest,
           absl::StrCat("the plugin file with SHA-256 ", digest,
                        ", which no record of the store names"),
           logger);
  }
  const absl::StatusOr<size_t> unfinished = files_.RemoveUnfinished();
  if (!unfinished.ok()) {
    logger.Warning(absl::StrCat("cannot remove an unfinished plugin file: ",
                                unfinished.status().message()));
  } else if (*unfinished != 0) {
    logger.Info(absl::StrCat("removed ", *unfinished,
                             " unfinished plugin files of the store"));
  }
}

}  // namespace actord::daemon
