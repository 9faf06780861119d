#include "runtime/catalog.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "runtime/absl_text.h"

namespace actord::runtime {
namespace {

constexpr size_t kNameMaxBytes = 128;
constexpr size_t kStateMaxBytes = 1 << 20;
constexpr size_t kStateMaxAlign = 64;
constexpr size_t kMethodsMax = 1024;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

absl::Status CheckName(const char* name, std::string_view what) {
  const absl::string_view shown_what = ToAbsl(what);
  if (name == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(shown_what, " has no name"));
  }
  const std::string_view text(name);
  if (text.empty() || text.size() > kNameMaxBytes ||
      !std::all_of(text.begin(), text.end(), IsNameChar)) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown_what, " has the name \"", name,
                     "\"; a name is 1 to 128 of a-z A-Z 0-9 _ . -"));
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
  if (type->struct_size < sizeof(actord_process_type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a process type has struct_size ", type->struct_size, "; ABI version ",
        ACTORD_ABI_VERSION, " needs at least ", sizeof(actord_process_type)));
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
  return CheckMethods(*type);
}

absl::Status CheckCommand(const actord_command_handler* command) {
  if (command == nullptr) {
    return absl::InvalidArgumentError("a command handler is null");
  }
  if (command->struct_size < sizeof(actord_command_handler)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a command handler has struct_size ", command->struct_size,
                     "; ABI version ", ACTORD_ABI_VERSION, " needs at least ",
                     sizeof(actord_command_handler)));
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

}  // namespace

std::optional<uint32_t> ProcessType::FindMethod(std::string_view method) const {
  if (method.empty()) return 0;
  for (size_t i = 0; i < descriptor->method_count; ++i) {
    if (method == descriptor->methods[i].name) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

absl::Status Catalog::AddProcessType(const actord_process_type* descriptor,
                                     std::string_view plugin) {
  absl::Status status = CheckProcessType(descriptor);
  if (!status.ok()) return status;
  if (const ProcessType* taken = FindProcessType(descriptor->name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("process type ", descriptor->name, " is taken by plugin ",
                     taken->plugin));
  }
  auto type = std::make_unique<ProcessType>();
  type->descriptor = descriptor;
  type->name = descriptor->name;
  type->plugin = std::string(plugin);
  type->index = static_cast<uint32_t>(process_types_.size());
  process_type_by_name_.emplace(type->name, type.get());
  process_types_.push_back(std::move(type));
  return absl::OkStatus();
}

absl::Status Catalog::AddCommand(const actord_command_handler* descriptor,
                                 void* self, std::string_view plugin) {
  absl::Status status = CheckCommand(descriptor);
  if (!status.ok()) return status;
  if (const CommandHandler* taken = FindCommand(descriptor->command)) {
    return absl::AlreadyExistsError(
        absl::StrCat("command ", descriptor->command, " is taken by plugin ",
                     taken->plugin));
  }
  auto command = std::make_unique<CommandHandler>();
  command->descriptor = descriptor;
  command->self = self;
  command->name = descriptor->command;
  command->plugin = std::string(plugin);
  command_by_name_.emplace(command->name, command.get());
  commands_.push_back(std::move(command));
  return absl::OkStatus();
}

const ProcessType* Catalog::FindProcessType(std::string_view name) const {
  const auto it = process_type_by_name_.find(ToAbsl(name));
  return it == process_type_by_name_.end() ? nullptr : it->second;
}

const CommandHandler* Catalog::FindCommand(std::string_view name) const {
  const auto it = command_by_name_.find(ToAbsl(name));
  return it == command_by_name_.end() ? nullptr : it->second;
}

}  // namespace actord::runtime
