// The process types and command handlers that a daemon can run, each with the
// plugin that brought it. Plugins, and newer versions of plugins, may be added
// while processes run.
//
// The table in force never changes: Add makes a new table and then replaces the
// one pointer to the old table. Old tables, types and handlers stay until the
// catalog is destroyed, so callers may keep a type or handler that they have
// found; its `in_force` says whether a look-up would find it again.
//
// Thread-safety: any thread; concurrent additions run one after another.
// Ownership: borrows the descriptors and handler objects; the plugins that own
// them must outlive the runtime.
#pragma once

#include <actord/abi.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "handlers/rules/durability.h"
#include "handlers/rules/process_rules.h"
#include "runtime/process/listed/type_names.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

// Whether two names are the same. (The standard's comparison also orders the
// names, and costs a call.)
inline bool IsSameName(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  constexpr size_t kWord = sizeof(uint64_t);
  if (size < kWord || size > 4 * kWord) {
    return size == 0 || std::memcmp(a.data(), b.data(), size) == 0;
  }
  // Most names are compared here: without a call, and word by word, because the
  // name in the envelope was written word by word a moment ago (copy_bytes.h).
  const auto differ = [&](size_t at) {
    uint64_t of_a = 0;
    uint64_t of_b = 0;
    std::memcpy(&of_a, a.data() + at, kWord);
    std::memcpy(&of_b, b.data() + at, kWord);
    return of_a ^ of_b;
  };
  uint64_t difference = differ(0) | differ(size - kWord);
  if (size > 2 * kWord) difference |= differ(kWord) | differ(size - 2 * kWord);
  return difference == 0;
}

// One version of a process type.
struct ProcessType {
  const actord_process_type* descriptor = nullptr;
  // The version to which live processes of this version upgrade: the version in
  // force, or null if they stay as they are. Add writes it with release, when
  // all of the new version is in force; each turn reads it with acquire.
  mutable std::atomic<const ProcessType*> upgrade_to{nullptr};
  // The same for durable processes.
  mutable std::atomic<const ProcessType*> durable_upgrade_to{nullptr};
  // Add writes it with release. A relaxed read is enough to check a remembered
  // look-up.
  mutable std::atomic<bool> in_force{true};
  std::string name;
  std::string plugin;   // name of the plugin that brought it
  std::string version;  // version of that plugin; "": not known
  // Another number for another plugin file, version or name.
  uint64_t code = 0;
  // Another number, above 0, for each type that was added to the catalog.
  uint32_t number = 0;
  // The number of its name in the catalog's TypeNames; 0: a stand-in
  // (absent_types.h).
  uint16_t name_number = 0;
  // The number of the plugin file in the records of the store. 0: the type is
  // built in, or there is no store.
  uint32_t plugin_number = 0;
  // The kind of durability of its processes.
  rules::TypeDurability durability;
  // Whether its processes can be durable.
  [[nodiscard]] bool can_be_durable() const {
    return durability.kind != rules::Durability::kNone;
  }
  // The version in which durable processes of this version run, or continue
  // with their next turn, unless it refuses them.
  [[nodiscard]] const ProcessType& newest_durable() const {
    const ProcessType* const newer =
        durable_upgrade_to.load(std::memory_order_acquire);
    return newer == nullptr ? *this : *newer;
  }
  // Whether the journal holds the inputs of steps instead of states.
  [[nodiscard]] bool is_replayed() const {
    return durability.kind == rules::Durability::kReplay;
  }
  // The functions of the descriptor; null: the descriptor has none.
  decltype(actord_process_type::snapshot) snapshot = nullptr;
  decltype(actord_process_type::restore) restore = nullptr;

  // Processes of former versions that upgraded to this version, or declined it.
  // Relaxed: a process is counted before Process::type or declined_live shows
  // it.
  mutable std::atomic<uint64_t> upgraded{0};
  mutable std::atomic<uint64_t> declined{0};
  // Live processes that declined this version and would not be asked again.
  // Incremented (release) after `declined`; read with acquire.
  mutable std::atomic<uint64_t> declined_live{0};
  // The log says why the first process declined. Relaxed.
  mutable std::atomic<bool> warned{false};

  // Index of the method; "" means the first method. kNoSuchMethod: no method
  // has that name. (An optional would be written to memory in two parts and
  // then read as one, which stalls the processor.)
  static constexpr uint32_t kNoSuchMethod = rules::kNoSuchMethod;
  [[nodiscard]] uint32_t FindMethod(std::string_view method) const;
};

// Why durable processes of `former` cannot go on as processes of `type`; empty:
// they can, unless `type` refuses them.
std::string_view WhyNoUpgrade(const ProcessType& former,
                              const ProcessType& type);

struct CommandHandler {
  const actord_command_handler* descriptor = nullptr;
  void* self = nullptr;  // the object that `create` made
  std::string name;
  std::string plugin;
  // Same as ProcessType::in_force.
  mutable std::atomic<bool> in_force{true};
  std::string version;  // as ProcessType::version

  [[nodiscard]] bool is_builtin() const {
    return plugin == rules::kBuiltinPlugin;
  }
  // Whether a command that has no answer may be handled again.
  [[nodiscard]] bool is_idempotent() const {
    return (flags() &
            (ACTORD_HANDLER_FLAG_IDEMPOTENT | ACTORD_HANDLER_FLAG_PURE)) != 0;
  }
  // Whether handling a command has no effect but the answer.
  [[nodiscard]] bool is_pure() const {
    return (flags() & ACTORD_HANDLER_FLAG_PURE) != 0;
  }
  // A plugin of the first version of the ABI has none.
  [[nodiscard]] uint32_t flags() const {
    return descriptor->struct_size >=
                   offsetof(actord_command_handler, flags) + sizeof(uint32_t)
               ? descriptor->flags
               : 0;
  }
};

// The types and handlers of one plugin, which are added all at once.
struct CatalogEntries {
  struct Command {
    const actord_command_handler* descriptor = nullptr;
    void* self = nullptr;
  };
  std::string plugin = {};
  std::string version = {};
  std::string digest = {};     // of the plugin's file; "": not known
  uint32_t plugin_number = 0;  // as ProcessType::plugin_number
  std::vector<const actord_process_type*> process_types = {};
  std::vector<Command> commands = {};
  // True: new entries replace this plugin's entries of the same name in force.
  // False: the names of entries in force are taken.
  bool replace = false;
  // With `replace`: whether live processes upgrade to the new version, if the
  // old type can snapshot and the new type can restore.
  bool upgrade_processes = false;
};

class Catalog {
 public:
  Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Checks the descriptors (sizes, names, pointers, limits of abi.h) and adds
  // all of them or none. Returns the types, in the order of the entries.
  // INVALID_ARGUMENT names the mistake in a descriptor, ALREADY_EXISTS names
  // the plugin that already has the name.
  absl::StatusOr<std::vector<const ProcessType*>> Add(
      const CatalogEntries& entries);
  // Adds the types of a former version, without its commands, for processes of
  // this version in the store. FindProcessType does not find them. Durable
  // processes upgrade from them to the types in force of the same names.
  // INVALID_ARGUMENT: as Add.
  absl::StatusOr<std::vector<const ProcessType*>> AddFormer(
      const CatalogEntries& entries);
  // Add for one process type or one command handler.
  absl::Status AddProcessType(const actord_process_type* descriptor,
                              std::string_view plugin);
  absl::Status AddCommand(const actord_command_handler* descriptor, void* self,
                          std::string_view plugin);

  // The numbers of the names of all types, and of types in the store.
  [[nodiscard]] TypeNames& type_names() const { return type_names_; }

  // The types and handlers in force now. The results stay valid.
  [[nodiscard]] const ProcessType* FindProcessType(std::string_view name) const;
  [[nodiscard]] const CommandHandler* FindCommand(std::string_view name) const;
  // The type of this name in a plugin file, in force or not. Null: no plugin
  // with that number was added, or it has no such type. Precondition: the
  // number is not 0.
  [[nodiscard]] const ProcessType* FindVersion(std::string_view name,
                                               uint32_t plugin_number) const;
  // The type for a process in the store: the type of the plugin file that has
  // written its state, if that file was added, otherwise the type in force.
  // Null: no type of this name is in force.
  [[nodiscard]] const ProcessType* FindStored(std::string_view name,
                                              uint32_t plugin_number) const;
  [[nodiscard]] const std::vector<const ProcessType*>& process_types() const {
    return table().process_types;
  }
  [[nodiscard]] const std::vector<const CommandHandler*>& commands() const {
    return table().commands;
  }

 private:
  struct Table {
    std::vector<const ProcessType*> process_types;
    std::vector<const CommandHandler*> commands;
    // The keys are views of the names in the values.
    absl::flat_hash_map<absl::string_view, const ProcessType*> type_by_name;
    absl::flat_hash_map<absl::string_view, const CommandHandler*>
        command_by_name;
  };

  // Acquire: pairs with Add, for the table and all that it points to.
  [[nodiscard]] const Table& table() const {
    return *table_.load(std::memory_order_acquire);
  }
  struct Change {
    std::vector<const ProcessType*> added;
    std::vector<const ProcessType*> replaced_types;
    std::vector<const CommandHandler*> replaced_commands;
  };
  // Puts the entries into `table`, which no other thread has.
  void Put(const CatalogEntries& entries, Table& table, Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<ProcessType> TypeOf(const actord_process_type* descriptor,
                                      const CatalogEntries& entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets to what all former versions of `type` upgrade: to `type` if the
  // upgrade is `wanted` and possible, otherwise to null.
  void UpgradeTo(const ProcessType& type, bool wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable TypeNames type_names_;
  mutable Mutex mutex_;
  // All types (by name), handlers and tables that were ever added. The last
  // table is in force.
  absl::flat_hash_map<std::string,
                      std::vector<std::unique_ptr<const ProcessType>>>
      process_types_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const CommandHandler>> commands_
      ABSL_GUARDED_BY(mutex_);
  // The number of the newest type.
  uint32_t last_type_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<const Table>> tables_ ABSL_GUARDED_BY(mutex_);
  // Written under mutex_, with release.
  std::atomic<const Table*> table_;
};

}  // namespace actord::runtime
