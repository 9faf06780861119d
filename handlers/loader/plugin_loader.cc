#include "handlers/loader/plugin_loader.h"

#include <actord/text.h>
#include <actord/values.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "handlers/loader/plugin_file.h"
#include "handlers/rules/durability.h"

namespace actord::handlers {
namespace {

// Every version of the ABI begins with magic, version and size.
constexpr size_t kHeaderBytes = offsetof(actord_plugin_info, name);

absl::Status NotAPlugin(const std::string& what) {
  return absl::InvalidArgumentError("not an actord plugin: " + what);
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(
      status.code(), "plugin '" + path + "': " + std::string(status.message()));
}

std::string LinkerPath(const UniqueFd& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

// The linker never unloads some objects, and it identifies them by their path,
// which contains this descriptor's number. The descriptor then stays open, so
// that its number is not reused for another file.
void CloseUnlessLoaded(UniqueFd file) {
  void* const kept = dlopen(LinkerPath(file).c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (kept == nullptr) return;
  dlclose(kept);
  file.Release();
}

// Finds the plugin's table and its size as the object states it.
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
  // These bits are the same in both ELF classes.
  if (ELF64_ST_TYPE(entry->st_info) != STT_OBJECT) {
    return NotAPlugin("its symbol '" ACTORD_PLUGIN_SYMBOL "' is not data");
  }
  return std::pair(static_cast<const actord_plugin_info*>(symbol),
                   static_cast<size_t>(entry->st_size));
}

// Checks one of the two lists of a plugin. `min_bytes`: size of an entry in the
// first version of the ABI.
template <typename Entry>
absl::Status CheckList(const Entry* const* list, size_t count, size_t min_bytes,
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
    if (list[i]->struct_size < min_bytes) {
      return absl::InvalidArgumentError(
          which + " has a struct_size of " +
          std::to_string(list[i]->struct_size) + " bytes, at least " +
          std::to_string(min_bytes) + " are needed");
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
  if (!IsDeclaredName(info->name)) {
    return absl::InvalidArgumentError(
        "its name '" +
        std::string(info->name, strnlen(info->name, kMaxNameBytes + 1)) +
        "' is not " + std::string(kDeclaredNameRule));
  }
  if (absl::Status status =
          CheckList(info->process_types, info->process_type_count,
                    offsetof(actord_process_type, snapshot), "process type");
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckList(info->commands, info->command_count,
                    offsetof(actord_command_handler, flags), "command");
      !status.ok()) {
    return status;
  }
  if (info->process_type_count == 0 && info->command_count == 0) {
    return absl::InvalidArgumentError(
        "it lists neither process types nor commands");
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenPluginFile(const std::string& path) {
  UniqueFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() >= 0) return file;
  const std::string why =
      std::error_code(errno, std::generic_category()).message();
  return errno == ENOENT || errno == ENOTDIR
             ? absl::NotFoundError("there is no such file")
             : absl::InvalidArgumentError("cannot be read: " + why);
}

absl::StatusOr<std::unique_ptr<Plugin>> Plugin::Load(const std::string& path) {
  const absl::StatusOr<UniqueFd> file = OpenPluginFile(path);
  if (!file.ok()) return InFile(path, file.status());
  auto copy = PluginCopies("").Copy(file->get(), path);
  if (!copy.ok()) return InFile(path, copy.status());
  return Load(*std::move(copy), path);
}

absl::StatusOr<std::unique_ptr<Plugin>> Plugin::Load(
    PluginCopy copy, const std::string& path,
    std::unique_ptr<OpenObject>* refused) {
  absl::Status status = CheckWholeElf(copy.file.get());
  if (status.ok()) status = CheckLibraryPaths(copy.file.get());
  if (!status.ok()) return InFile(path, status);
  const bool is_in_memory = copy.path.empty();
  std::string linker_path = is_in_memory ? LinkerPath(copy.file) : copy.path;
  const absl::StatusOr<void*> library = Open(linker_path);
  if (!library.ok()) return InFile(path, library.status());
  return Check(path,
               std::make_unique<OpenObject>(
                   *library, std::move(copy.digest), std::move(linker_path),
                   is_in_memory ? std::move(copy.file) : UniqueFd()),
               refused);
}

bool Plugin::has_durable_types() const {
  const auto types = process_types();
  return std::any_of(
      types.begin(), types.end(), [](const actord_process_type* type) {
        return type != nullptr &&
               rules::DurabilityOf(*type).kind != rules::Durability::kNone;
      });
}

absl::StatusOr<UniqueFd> Plugin::OpenCopy() const {
  return OpenPluginFile(object_->path());
}

OpenObject::~OpenObject() {
  dlclose(library_);
  if (file_.get() >= 0) CloseUnlessLoaded(std::move(file_));
}

absl::StatusOr<void*> Plugin::Open(const std::string& linker_path) {
  void* const library = dlopen(linker_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return absl::InvalidArgumentError(
        std::string("not a shared object that can be loaded here: ") +
        (why == nullptr ? "unknown error" : why));
  }
  return library;
}

absl::StatusOr<std::unique_ptr<Plugin>> Plugin::Check(
    const std::string& path, std::unique_ptr<OpenObject> object,
    std::unique_ptr<OpenObject>* refused) {
  const auto found = FindInfo(object->library());
  absl::Status status = found.status();
  if (status.ok()) status = CheckPluginInfo(found->first, found->second);
  if (!status.ok()) {
    if (refused != nullptr) *refused = std::move(object);
    return InFile(path, status);
  }
  return std::unique_ptr<Plugin>(
      new Plugin(path, std::move(object), found->first));
}

Plugin::Plugin(std::string path, std::unique_ptr<OpenObject> object,
               const actord_plugin_info* info)
    : path_(std::move(path)), object_(std::move(object)), info_(info) {}

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
