#include "runtime/process/catalog.h"

#include <actord/text.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "handlers/rules/durability.h"
#include "handlers/rules/process_rules.h"
#include "runtime/process/fingerprint.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

constexpr size_t kStateMaxBytes = 1 << 20;
constexpr size_t kStateMaxAlign = 64;
constexpr size_t kMethodsMax = 1024;
// Size of a process type in the first version of the ABI.
constexpr size_t kTypeMinBytes = offsetof(actord_process_type, snapshot);
// Size of a command handler in the first version of the ABI.
constexpr size_t kCommandMinBytes = offsetof(actord_command_handler, flags);

absl::Status CheckName(const char* name, std::string_view what) {
  const absl::string_view shown_what = ToAbsl(what);
  if (name == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(shown_what, " has no name"));
  }
  if (!IsDeclaredName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown_what, " has the name \"", name, "\"; a name is ",
                     ToAbsl(kDeclaredNameRule)));
  }
  return absl::OkStatus();
}

absl::Status CheckMethods(const actord_process_type& type) {
  const auto refuse = [&type](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("process type ", type.name, " ", why));
  };
  if (type.methods == nullptr || type.method_count == 0) {
    return refuse("names no method; it needs at least one");
  }
  if (type.method_count > kMethodsMax) {
    return refuse("names more than 1024 methods");
  }
  for (size_t i = 0; i < type.method_count; ++i) {
    absl::Status status = CheckName(type.methods[i].name,
                                    absl::StrCat("a method of ", type.name));
    if (!status.ok()) return status;
    for (size_t j = 0; j < i; ++j) {
      if (std::string_view(type.methods[i].name) == type.methods[j].name) {
        return refuse(
            absl::StrCat("names the method ", type.methods[i].name, " twice"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProcessType(const actord_process_type* type) {
  if (type == nullptr) {
    return absl::InvalidArgumentError("a process type is null");
  }
  if (type->struct_size < kTypeMinBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a process type has struct_size ", type->struct_size, "; ABI version ",
        ACTORD_ABI_VERSION, " needs at least ", kTypeMinBytes));
  }
  absl::Status status = CheckName(type->name, "a process type");
  if (!status.ok()) return status;
  const auto refuse = [type](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("process type ", type->name, " ", why));
  };
  if (type->init == nullptr || type->step == nullptr ||
      type->close == nullptr) {
    return refuse("lacks init, step or close");
  }
  if (type->state_size > kStateMaxBytes) {
    return refuse(absl::StrCat("wants ", type->state_size,
                               " bytes of state; at most 1 MiB is provided"));
  }
  if (type->state_align > kStateMaxAlign ||
      (type->state_align != 0 && !std::has_single_bit(type->state_align))) {
    return refuse(absl::StrCat("wants an alignment of ", type->state_align,
                               "; it must be a power of two up to 64"));
  }
  if (const std::string_view why = rules::WhyNotDurable(*type); !why.empty()) {
    return refuse(ToAbsl(why));
  }
  return CheckMethods(*type);
}

absl::Status CheckCommand(const actord_command_handler* command) {
  if (command == nullptr) {
    return absl::InvalidArgumentError("a command handler is null");
  }
  if (command->struct_size < kCommandMinBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a command handler has struct_size ", command->struct_size,
                     "; ABI version ", ACTORD_ABI_VERSION, " needs at least ",
                     kCommandMinBytes));
  }
  absl::Status status = CheckName(command->command, "a command handler");
  if (!status.ok()) return status;
  if (command->handle == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the handler of command ", command->command, " lacks handle"));
  }
  if (command->mode != ACTORD_HANDLER_INLINE &&
      command->mode != ACTORD_HANDLER_POOLED) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the handler of command ", command->command, " has the mode ",
        command->mode, "; it must be inline (0) or pooled (1)"));
  }
  return absl::OkStatus();
}

bool CanTakeOver(const ProcessType& former, const ProcessType& type) {
  return WhyNoUpgrade(former, type).empty();
}

absl::Status Taken(absl::string_view what, absl::string_view name,
                   absl::string_view plugin) {
  return absl::AlreadyExistsError(
      absl::StrCat(what, name, " is taken by plugin ", plugin));
}

}  // namespace

std::string_view WhyNoUpgrade(const ProcessType& former,
                              const ProcessType& type) {
  if (!former.can_be_durable() || !type.can_be_durable()) {
    return "one of the two versions of the type cannot be durable";
  }
  if (former.descriptor == type.descriptor) return {};
  const rules::TypeDurability& before = former.durability;
  const rules::TypeDurability& now = type.durability;
  if (former.is_replayed() != type.is_replayed()) {
    return "the two versions of the type are durable in different ways, image "
           "and replay";
  }
  if (former.is_replayed()) {
    return before.has_snapshots && now.has_snapshots
               ? std::string_view()
               : "a replay type needs Snapshot and Restore in both versions";
  }
  return type.restore != nullptr || (before.kind == now.kind &&
                                     before.flat_version == now.flat_version)
             ? std::string_view()
             : "the flat state has another layout, and the new version has no "
               "Restore";
}

uint32_t ProcessType::FindMethod(std::string_view method) const {
  return rules::FindMethod(*descriptor, method);
}

Catalog::Catalog() {
  const MutexLock lock(mutex_);
  tables_.push_back(std::make_unique<const Table>());
  table_.store(tables_.back().get(), std::memory_order_release);
}

absl::StatusOr<std::vector<const ProcessType*>> Catalog::Add(
    const CatalogEntries& entries) {
  const MutexLock lock(mutex_);
  const Table& old = *tables_.back();
  absl::flat_hash_set<absl::string_view> types;
  for (const actord_process_type* descriptor : entries.process_types) {
    absl::Status status = CheckProcessType(descriptor);
    if (!status.ok()) return status;
    const auto it = old.type_by_name.find(descriptor->name);
    const bool taken =
        it != old.type_by_name.end() &&
        !(entries.replace && it->second->plugin == entries.plugin);
    if (taken || !types.insert(descriptor->name).second) {
      return Taken("process type ", descriptor->name,
                   taken ? it->second->plugin : entries.plugin);
    }
  }
  absl::flat_hash_set<absl::string_view> commands;
  for (const CatalogEntries::Command& command : entries.commands) {
    absl::Status status = CheckCommand(command.descriptor);
    if (!status.ok()) return status;
    const char* const name = command.descriptor->command;
    const auto it = old.command_by_name.find(name);
    const bool taken =
        it != old.command_by_name.end() &&
        !(entries.replace && it->second->plugin == entries.plugin);
    if (taken || !commands.insert(name).second) {
      return Taken("command ", name,
                   taken ? it->second->plugin : entries.plugin);
    }
  }
  auto table = std::make_unique<Table>(old);
  Change change;
  Put(entries, *table, change);
  tables_.push_back(std::move(table));
  // Release: see table().
  table_.store(tables_.back().get(), std::memory_order_release);
  // The old entries change last, so that a process that finds a newer version
  // also finds everything that came with it.
  for (const ProcessType* type : change.replaced_types) {
    type->in_force.store(false, std::memory_order_release);
  }
  for (const CommandHandler* command : change.replaced_commands) {
    command->in_force.store(false, std::memory_order_release);
  }
  for (const ProcessType* type : change.added) {
    UpgradeTo(*type, entries.upgrade_processes);
  }
  return std::move(change.added);
}

std::unique_ptr<ProcessType> Catalog::TypeOf(
    const actord_process_type* descriptor, const CatalogEntries& entries) {
  auto type = std::make_unique<ProcessType>();
  type->descriptor = descriptor;
  type->name = descriptor->name;
  type->plugin = entries.plugin;
  type->version = entries.version;
  type->code =
      FingerprintOf({}, {{entries.plugin, entries.version, entries.digest}})
          .low;
  type->number = ++last_type_;
  type->name_number = type_names_.NumberOf(type->name);
  type->plugin_number = entries.plugin_number;
  if (rules::HasUpgrades(*descriptor)) {
    type->snapshot = descriptor->snapshot;
    type->restore = descriptor->restore;
  }
  type->durability = rules::DurabilityOf(*descriptor);
  return type;
}

absl::StatusOr<std::vector<const ProcessType*>> Catalog::AddFormer(
    const CatalogEntries& entries) {
  const MutexLock lock(mutex_);
  std::vector<std::unique_ptr<ProcessType>> types;
  for (const actord_process_type* descriptor : entries.process_types) {
    absl::Status status = CheckProcessType(descriptor);
    if (!status.ok()) return status;
    types.push_back(TypeOf(descriptor, entries));
  }
  std::vector<const ProcessType*> added;
  for (std::unique_ptr<ProcessType>& former : types) {
    added.push_back(former.get());
    former->in_force.store(false, std::memory_order_relaxed);
    const ProcessType* const now = FindProcessType(former->name);
    if (now != nullptr && CanTakeOver(*former, *now)) {
      former->durable_upgrade_to.store(now, std::memory_order_release);
    }
    auto& versions = process_types_[former->name];
    versions.push_back(std::move(former));
  }
  return added;
}

void Catalog::Put(const CatalogEntries& entries, Table& table, Change& change) {
  for (const actord_process_type* descriptor : entries.process_types) {
    auto type = TypeOf(descriptor, entries);
    const ProcessType* const now = type.get();
    const auto it = table.type_by_name.find(now->name);
    if (it == table.type_by_name.end()) {
      table.process_types.push_back(now);
    } else {
      const ProcessType* const before = it->second;
      std::replace(table.process_types.begin(), table.process_types.end(),
                   before, now);
      // The key is a view of the replaced type's name.
      table.type_by_name.erase(it);
      change.replaced_types.push_back(before);
    }
    table.type_by_name.emplace(now->name, now);
    process_types_[now->name].push_back(std::move(type));
    change.added.push_back(now);
  }
  for (const CatalogEntries::Command& entry : entries.commands) {
    auto command = std::make_unique<CommandHandler>();
    command->descriptor = entry.descriptor;
    command->self = entry.self;
    command->name = entry.descriptor->command;
    command->plugin = entries.plugin;
    command->version = entries.version;
    const CommandHandler* const now = command.get();
    const auto it = table.command_by_name.find(now->name);
    if (it == table.command_by_name.end()) {
      table.commands.push_back(now);
    } else {
      const CommandHandler* const before = it->second;
      std::replace(table.commands.begin(), table.commands.end(), before, now);
      table.command_by_name.erase(it);
      change.replaced_commands.push_back(before);
    }
    table.command_by_name.emplace(now->name, now);
    commands_.push_back(std::move(command));
  }
}

void Catalog::UpgradeTo(const ProcessType& type, bool wanted) {
  for (const auto& former : process_types_[type.name]) {
    if (former.get() == &type) continue;
    const bool is_same_code = former->descriptor == type.descriptor;
    const bool can = is_same_code ||
                     (former->snapshot != nullptr && type.restore != nullptr);
    // Release: pairs with the acquire of the turn, and covers all of `type`.
    former->upgrade_to.store(wanted && can ? &type : nullptr,
                             std::memory_order_release);
    former->durable_upgrade_to.store(
        wanted && CanTakeOver(*former, type) ? &type : nullptr,
        std::memory_order_release);
  }
}

absl::Status Catalog::AddProcessType(const actord_process_type* descriptor,
                                     std::string_view plugin) {
  return Add({.plugin = std::string(plugin), .process_types = {descriptor}})
      .status();
}

absl::Status Catalog::AddCommand(const actord_command_handler* descriptor,
                                 void* self, std::string_view plugin) {
  return Add({.plugin = std::string(plugin), .commands = {{descriptor, self}}})
      .status();
}

const ProcessType* Catalog::FindProcessType(std::string_view name) const {
  const Table& now = table();
  const auto it = now.type_by_name.find(ToAbsl(name));
  return it == now.type_by_name.end() ? nullptr : it->second;
}

const ProcessType* Catalog::FindVersion(std::string_view name,
                                        uint32_t plugin_number) const {
  ACTORD_ASSERT(plugin_number != 0, "catalog.h: the number is not 0");
  const ProcessType* const now = FindProcessType(name);
  if (now != nullptr && now->plugin_number == plugin_number) return now;
  const MutexLock lock(mutex_);
  const auto versions = process_types_.find(ToAbsl(name));
  if (versions == process_types_.end()) return nullptr;
  // The newest first: the same file may have been put in force again.
  for (auto type = versions->second.rbegin(); type != versions->second.rend();
       ++type) {
    if ((*type)->plugin_number == plugin_number) return type->get();
  }
  return nullptr;
}

const ProcessType* Catalog::FindStored(std::string_view name,
                                       uint32_t plugin_number) const {
  const ProcessType* const now = FindProcessType(name);
  if (now == nullptr || plugin_number == 0) return now;
  const ProcessType* const version = FindVersion(name, plugin_number);
  return version == nullptr ? now : version;
}

const CommandHandler* Catalog::FindCommand(std::string_view name) const {
  const Table& now = table();
  const auto it = now.command_by_name.find(ToAbsl(name));
  return it == now.command_by_name.end() ? nullptr : it->second;
}

}  // namespace actord::runtime
