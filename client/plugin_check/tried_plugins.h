// The plugins of a check: the file that is checked, and the versions that a
// store keeps. Loading a plugin runs its code, so use this in a child process.
//
// Thread-safety: one thread. Ownership: owns the shared objects, which outlive
// everything that the catalog gives out; borrows the catalog.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/plugin_check/messages.h"
#include "handlers/loader/plugin_copies.h"
#include "handlers/loader/plugin_loader.h"
#include "runtime/process/catalog.h"
#include "runtime/records/records.h"

namespace actord::client {

class TriedPlugins {
 public:
  // `store`: the directory of the store; "": none is needed.
  TriedPlugins(runtime::Catalog& catalog, std::string store)
      : catalog_(catalog), store_(std::move(store)) {}
  TriedPlugins(const TriedPlugins&) = delete;
  TriedPlugins& operator=(const TriedPlugins&) = delete;

  // Puts the types of the file at `path` into force. `plugins`: the plugins of
  // the store; a new file gets the next number. Errors name the file, and say
  // why a daemon would not load it. NOT_FOUND: there is no such file.
  // PERMISSION_DENIED: others can write to the file.
  absl::StatusOr<PluginDescription> LoadFile(
      const std::string& path,
      const std::vector<runtime::records::Plugin>& plugins);
  // Adds the types of a version that the store keeps. Errors: those of
  // LoadFile, and DATA_LOSS: the file is damaged.
  absl::Status LoadKept(const runtime::records::Plugin& plugin);

 private:
  // `sha256`: the expected digest of the file, in hexadecimal digits. Empty:
  // any digest will do.
  absl::StatusOr<const handlers::Plugin*> Open(const std::string& path,
                                               const std::string& sha256);

  runtime::Catalog& catalog_;
  const std::string store_;
  const handlers::PluginCopies copies_{""};  // in memory
  std::vector<std::unique_ptr<handlers::Plugin>> plugins_;
};

}  // namespace actord::client
