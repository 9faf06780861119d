#include "handlers/plugin_loader.h"

#include <actord/values.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace actord::handlers {
namespace {

// What every version of the ABI has: magic, version and size.
constexpr size_t kHeaderBytes = offsetof(actord_plugin_info, name);

absl::Status NotAPlugin(const std::string& what) {
  return absl::InvalidArgumentError("not an actord plugin: " + what);
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(
      status.code(), "plugin '" + path + "': " + std::string(status.message()));
}

absl::Status CheckIsFile(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    const std::string why =
        std::error_code(errno, std::generic_category()).message();
    return errno == ENOENT || errno == ENOTDIR
               ? absl::NotFoundError("there is no such file")
               : absl::InvalidArgumentError("cannot be read: " + why);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError("not a file");
  }
  return absl::OkStatus();
}

struct LibraryCloser {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, LibraryCloser>;

absl::StatusOr<Library> OpenLibrary(const std::string& path) {
  // Without a slash dlopen would search the system's library directories.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return absl::InvalidArgumentError(error.message());

  Library library(dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) {
    const char* why = dlerror();
    return absl::InvalidArgumentError(
        std::string("not a shared object that can be loaded here: ") +
        (why == nullptr ? "unknown error" : why));
  }
  return library;
}

// Finds the table and how many bytes the object says it has.
absl::StatusOr<std::pair<const actord_plugin_info*, size_t>> FindInfo(
    void* library) {
  void* symbol = dlsym(library, ACTORD_PLUGIN_SYMBOL);
  if (symbol == nullptr) {
    return NotAPlugin("it has no symbol '" ACTORD_PLUGIN_SYMBOL "'");
  }
  Dl_info where = {};
  void* extra = nullptr;
  if (dladdr1(symbol, &where, &extra, RTLD_DL_SYMENT) == 0 ||
      extra == nullptr || where.dli_saddr != symbol) {
    return NotAPlugin("its symbol '" ACTORD_PLUGIN_SYMBOL
                      "' is not in its symbol table");
  }
  const auto* entry = static_cast<const ElfW(Sym)*>(extra);
  // The same bits for both ELF classes.
  if (ELF64_ST_TYPE(entry->st_info) != STT_OBJECT) {
    return NotAPlugin("its symbol '" ACTORD_PLUGIN_SYMBOL "' is not data");
  }
  return std::pair(static_cast<const actord_plugin_info*>(symbol),
                   static_cast<size_t>(entry->st_size));
}

// One of the two lists of a plugin.
template <typename Entry>
absl::Status CheckList(const Entry* const* list, size_t count,
                       const std::string& what) {
  if (count > kMaxPluginEntries) {
    return absl::InvalidArgumentError("it lists " + std::to_string(count) +
                                      " " + what + "s, the limit is " +
                                      std::to_string(kMaxPluginEntries));
  }
  if (count != 0 && list == nullptr) {
    return absl::InvalidArgumentError("it says that it has " +
                                      std::to_string(count) + " " + what +
                                      "s, but the list is NULL");
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string which = what + " number " + std::to_string(i);
    if (list[i] == nullptr) {
      return absl::InvalidArgumentError(which + " is NULL");
    }
    if (list[i]->struct_size < sizeof(Entry)) {
      return absl::InvalidArgumentError(
          which + " has a struct_size of " +
          std::to_string(list[i]->struct_size) + " bytes, at least " +
          std::to_string(sizeof(Entry)) + " are needed");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPluginInfo(const actord_plugin_info* info, size_t size) {
  if (size < kHeaderBytes) {
    return NotAPlugin("its table has only " + std::to_string(size) + " bytes");
  }
  if (info->magic != ACTORD_ABI_MAGIC) {
    return NotAPlugin("its table does not begin with ACTORD_ABI_MAGIC");
  }
  if (info->abi_version != ACTORD_ABI_VERSION) {
    return absl::FailedPreconditionError(
        "it is built for version " + std::to_string(info->abi_version) +
        " of the plugin ABI, this daemon speaks version " +
        std::to_string(ACTORD_ABI_VERSION) +
        "; rebuild it with this daemon's SDK");
  }
  if (info->struct_size < sizeof(actord_plugin_info) ||
      info->struct_size > size) {
    return absl::InvalidArgumentError(
        "its table has a struct_size of " + std::to_string(info->struct_size) +
        " bytes, but it must be at least " +
        std::to_string(sizeof(actord_plugin_info)) + " and at most its " +
        std::to_string(size) + " bytes");
  }
  if (info->name == nullptr || info->version == nullptr) {
    return absl::InvalidArgumentError(
        std::string("its ") + (info->name == nullptr ? "name" : "version") +
        " is NULL");
  }
  if (!actord::detail::IsValidName(info->name)) {
    return absl::InvalidArgumentError(
        "its name '" + std::string(info->name, strnlen(info->name, 129)) +
        "' is not 1 to 128 of [a-zA-Z0-9_.-]");
  }
  if (absl::Status status = CheckList(info->process_types,
                                      info->process_type_count, "process type");
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckList(info->commands, info->command_count, "command");
      !status.ok()) {
    return status;
  }
  if (info->process_type_count == 0 && info->command_count == 0) {
    return absl::InvalidArgumentError(
        "it lists neither process types nor commands");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Plugin>> Plugin::Load(const std::string& path) {
  if (absl::Status status = CheckIsFile(path); !status.ok()) {
    return InFile(path, status);
  }
  absl::StatusOr<Library> library = OpenLibrary(path);
  if (!library.ok()) return InFile(path, library.status());
  const auto found = FindInfo(library->get());
  if (!found.ok()) return InFile(path, found.status());
  const auto [info, size] = *found;
  if (absl::Status status = CheckPluginInfo(info, size); !status.ok()) {
    return InFile(path, status);
  }
  return std::unique_ptr<Plugin>(new Plugin(path, library->release(), info));
}

Plugin::Plugin(std::string path, void* library, const actord_plugin_info* info)
    : path_(std::move(path)), library_(library), info_(info) {}

Plugin::~Plugin() { dlclose(library_); }

absl::StatusOr<HandlerSet> Plugin::CreateHandlers(
    const actord_host* host) const {
  HandlerSet handlers(host);
  for (const actord_command_handler* descriptor : commands()) {
    if (absl::Status status = handlers.Create(descriptor); !status.ok()) {
      return status;
    }
  }
  return handlers;
}

}  // namespace actord::handlers
