// Loads plugins: opens the shared object and checks what it says about itself
// before any function of it runs (but for its static initialisers, which
// opening runs).
//
// What is checked here: the symbol, magic, ABI version, struct sizes, the
// plugin's name, and that arrays and their entries are there. What the entries
// say is checked by whoever adds them to a catalog.
//
// Thread-safety: none; one plugin is loaded at a time. Afterwards a Plugin is
// constant. Ownership: a Plugin owns the shared object; everything that points
// into it (descriptors, handlers, processes) must be gone before it is
// destroyed.
#pragma once

#include <actord/abi.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "handlers/commands/allowed_directories.h"
#include "handlers/loader/handler_set.h"
#include "handlers/loader/plugin_file.h"

namespace actord::handlers {

// A plugin lists at most this many process types, and as many commands: a
// bound on garbage, not on plugins.
inline constexpr size_t kMaxPluginEntries = 4096;

// A shared object that the dynamic linker has opened, so that its static
// initialisers have run. Destroying it closes it.
class OpenObject {
 public:
  // `file`: by whose number the linker knows the object, which must not become
  // another file's while it is loaded; or none.
  OpenObject(void* library, const FileIdentity& identity, UniqueFd file)
      : library_(library), identity_(identity), file_(std::move(file)) {}
  OpenObject(const OpenObject&) = delete;
  OpenObject& operator=(const OpenObject&) = delete;
  ~OpenObject();

  [[nodiscard]] void* library() const { return library_; }
  [[nodiscard]] const FileIdentity& file() const { return identity_; }

 private:
  void* const library_;
  const FileIdentity identity_;
  UniqueFd file_;
};

class Plugin {
 public:
  // Every error names the file. NOT_FOUND: there is none. INVALID_ARGUMENT: it
  // is no shared object, or no plugin. FAILED_PRECONDITION: it is a plugin, but
  // of another ABI version.
  static absl::StatusOr<std::unique_ptr<Plugin>> Load(const std::string& path);
  // Likewise what is open as `file`, whatever has become of its path, which is
  // for people. (The dynamic linker looks a path up among those that it has
  // seen and never at the file again, so a new file under an old name is
  // loaded in this way. $ORIGIN in the object leads nowhere.) The file must not
  // be that of an OpenObject that there is. What was opened, and is no plugin,
  // is then in `refused`; nullptr: it is closed, whatever it has begun.
  static absl::StatusOr<std::unique_ptr<Plugin>> Load(
      UniqueFd file, const std::string& path,
      std::unique_ptr<OpenObject>* refused = nullptr);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileIdentity& file() const { return object_->file(); }
  [[nodiscard]] const actord_plugin_info& info() const { return *info_; }
  [[nodiscard]] std::span<const actord_process_type* const> process_types()
      const {
    return {info_->process_types, info_->process_type_count};
  }
  [[nodiscard]] std::span<const actord_command_handler* const> commands()
      const {
    return {info_->commands, info_->command_count};
  }

  // Makes this plugin's handlers, in the order in which it lists them. If one
  // refuses, those before it are destroyed and the error names its command.
  [[nodiscard]] absl::StatusOr<HandlerSet> CreateHandlers(
      const actord_host* host) const;

 private:
  Plugin(std::string path, std::unique_ptr<OpenObject> object,
         const actord_plugin_info* info);
  static absl::StatusOr<void*> Open(const std::string& linker_path);
  static absl::StatusOr<std::unique_ptr<Plugin>> Check(
      const std::string& path, std::unique_ptr<OpenObject> object,
      std::unique_ptr<OpenObject>* refused);

  const std::string path_;
  const std::unique_ptr<OpenObject> object_;
  const actord_plugin_info* const info_;
};

// The checks behind Load on a table that is in memory already. `size` is the
// number of bytes at `info` that may be read.
absl::Status CheckPluginInfo(const actord_plugin_info* info, size_t size);

}  // namespace actord::handlers
