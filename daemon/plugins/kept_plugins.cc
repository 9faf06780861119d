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
    const absl::Status removed = files_.Remove(digest);
    const std::string who = absl::StrCat("the file of plugin ", known.name, " ",
                                         known.version, ", SHA-256 ", digest,
                                         ", of which the store has no "
                                         "process");
    if (removed.ok()) {
      logger.Info(absl::StrCat("removed ", who));
    } else {
      logger.Warning(
          absl::StrCat("cannot remove ", who, ": ", removed.message()));
    }
  }
}

}  // namespace actord::daemon
