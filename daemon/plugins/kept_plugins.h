// The plugins of a store: their files, and the numbers by which the records
// name them. A plugin gets its number before any of its types is in force, and
// its file is durable before its number.
//
// Thread-safety: one thread at a time. Ownership: borrows the store.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/log/logging.h"
#include "runtime/durable/opened_store.h"
#include "runtime/files/file_system.h"
#include "runtime/records/records.h"
#include "runtime/store_tools/plugin_files.h"

namespace actord::daemon {

class KeptPlugins {
 public:
  // `directory`: of the store. DATA_LOSS: the store is damaged.
  static absl::StatusOr<std::unique_ptr<KeptPlugins>> Open(
      runtime::OpenedStore& store, const std::string& directory,
      runtime::FileSystem& files = runtime::FileSystem::System());
  KeptPlugins(const KeptPlugins&) = delete;
  KeptPlugins& operator=(const KeptPlugins&) = delete;

  // The number of a plugin; its file is kept from now on. `digest`: SHA-256 of
  // the file, 64 hexadecimal digits. `file`: open for reading. Errors say why
  // the file cannot be kept. RESOURCE_EXHAUSTED: it is not kept yet, and the
  // disk has no room for it beside store.disk_reserve.
  absl::StatusOr<runtime::records::PluginNumber> Keep(
      const std::string& name, const std::string& version,
      const std::string& digest, int file);

  struct Kept {
    std::string name;
    std::string version;
    std::string digest;  // as above
    std::string path;
  };
  // NOT_FOUND: the store knows no plugin of this number.
  [[nodiscard]] absl::StatusOr<Kept> Find(
      runtime::records::PluginNumber number) const;

  // Removes the files of plugins that are not in `used` and that Keep was not
  // called for, except the `most` newest of them. Also removes the files
  // without a number: a crash came before the number was durable, so no record
  // can name them. The log names each file that was removed or could not be
  // removed.
  void RemoveUnused(
      const absl::flat_hash_set<runtime::records::PluginNumber>& used,
      size_t most, Logger& logger);

 private:
  KeptPlugins(runtime::OpenedStore& store, const std::string& directory,
              runtime::FileSystem& files)
      : store_(store), files_(directory, files, store.ReserveBytes()) {}
  // `what`: the file, for the log.
  void Remove(const std::string& digest, const std::string& what,
              Logger& logger);
  // `present`: the files that the store has.
  void RemoveUnnumbered(
      const absl::flat_hash_set<runtime::records::PluginNumber>& used,
      const std::vector<std::string>& present, Logger& logger);

  runtime::OpenedStore& store_;
  runtime::PluginFiles files_;
  std::map<runtime::records::PluginNumber, runtime::records::Plugin> plugins_;
  // The plugins for which Keep was called.
  absl::flat_hash_set<runtime::records::PluginNumber> loaded_;
};

}  // namespace actord::daemon
