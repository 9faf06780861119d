// Loads plugins: opens the shared object and checks its table before any
// function of the plugin runs. (The static initialisers of the object run when
// it is opened.)
//
// These checks cover the symbol, magic, ABI version, struct sizes, the plugin's
// name, and that arrays and their entries exist. The content of the entries is
// checked when they are added to a catalog.
//
// Thread-safety: none; one plugin is loaded at a time. A loaded Plugin is
// constant. Ownership: a Plugin owns the shared object. All pointers into it
// (descriptors, handlers, processes) must be gone before it is destroyed.
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
#include "handlers/loader/plugin_copies.h"

namespace actord::handlers {

// Maximum number of process types in a plugin, and maximum number of commands.
// The limit protects against corrupt tables; real plugins stay far below it.
inline constexpr size_t kMaxPluginEntries = 4096;

// A shared object that the dynamic linker has opened, so its static
// initialisers have run. The destructor closes it.
class OpenObject {
 public:
  // `path`: by which the linker has opened it. `file`: the descriptor whose
  // number is part of the path by which the linker identifies the object. The
  // descriptor stays open while the object is loaded, so that the number is not
  // reused for another file. `file` may be empty.
  OpenObject(void* library, std::string digest, std::string path, UniqueFd file)
      : library_(library),
        digest_(std::move(digest)),
        path_(std::move(path)),
        file_(std::move(file)) {}
  OpenObject(const OpenObject&) = delete;
  OpenObject& operator=(const OpenObject&) = delete;
  ~OpenObject();

  [[nodiscard]] void* library() const { return library_; }
  // The digest of its copy.
  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void* const library_;
  const std::string digest_;
  const std::string path_;
  UniqueFd file_;
};

// Opens the file of a plugin for reading. NOT_FOUND: no such file.
// INVALID_ARGUMENT: it cannot be opened. The errors do not name the file.
absl::StatusOr<UniqueFd> OpenPluginFile(const std::string& path);

class Plugin {
 public:
  // Loads a copy of the file at `path`, which is only for messages: every error
  // contains it. INVALID_ARGUMENT: not a shared object, or not a plugin, or its
  // libraries have relative paths. FAILED_PRECONDITION: a plugin for another
  // ABI version. No OpenObject may exist for a copy with the same digest. If
  // the object was opened but is not a plugin, it is stored in `refused`. If
  // `refused` is nullptr, the object is closed, even if its initialisers have
  // started something.
  static absl::StatusOr<std::unique_ptr<Plugin>> Load(
      PluginCopy copy, const std::string& path,
      std::unique_ptr<OpenObject>* refused = nullptr);
  // Copies the file to memory and loads it; for programs that load only files
  // of their own. NOT_FOUND: no such file.
  static absl::StatusOr<std::unique_ptr<Plugin>> Load(const std::string& path);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& digest() const { return object_->digest(); }
  // Opens its copy for reading. Errors: those of OpenPluginFile.
  [[nodiscard]] absl::StatusOr<UniqueFd> OpenCopy() const;
  [[nodiscard]] const actord_plugin_info& info() const { return *info_; }
  [[nodiscard]] std::span<const actord_process_type* const> process_types()
      const {
    return {info_->process_types, info_->process_type_count};
  }
  // Whether processes of one of its types can be durable.
  [[nodiscard]] bool has_durable_types() const;
  [[nodiscard]] std::span<const actord_command_handler* const> commands()
      const {
    return {info_->commands, info_->command_count};
  }

  // Creates this plugin's handlers in the order of its table. If a handler
  // refuses, the earlier handlers are destroyed, and the error contains the
  // command of the refusing handler.
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

// The checks of Load for a table that is already in memory. `size`: the number
// of readable bytes at `info`.
absl::Status CheckPluginInfo(const actord_plugin_info* info, size_t size);

}  // namespace actord::handlers
