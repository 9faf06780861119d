// The table of a plugin, with wrong sizes, missing texts and functions, and
// names of any bytes: it is refused with a reason, or all of it is in the
// catalog. No function of the table is called.
#include <actord/abi.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "handlers/loader/plugin_loader.h"
#include "runtime/process/catalog.h"
#include "tests/fuzz/input.h"

namespace actord::fuzz {
namespace {

int32_t Init(void*, const actord_init*, actord_step*) { std::abort(); }
int32_t Step(void*, const actord_event* const*, size_t, actord_step*) {
  std::abort();
}
void Close(void*) { std::abort(); }
int32_t Snapshot(const void*, actord_step*) { std::abort(); }
int32_t Restore(void*, const actord_restore*, actord_step*) { std::abort(); }
int32_t Handle(void*, actord_call*) { std::abort(); }

// A whole table of which the input changes some fields.
class Table {
 public:
  explicit Table(Input input) : input_(input) {
    info_ = {.magic = ACTORD_ABI_MAGIC,
             .abi_version = ACTORD_ABI_VERSION,
             .struct_size = sizeof(actord_plugin_info),
             .name = Name("plugin"),
             .version = Name("1"),
             .process_types = nullptr,
             .process_type_count = 0,
             .commands = nullptr,
             .command_count = 0};
    if (Rarely()) info_.magic = input_.Word();
    if (Rarely()) info_.abi_version = input_.Byte();
    info_.struct_size = Size(info_.struct_size);
    const size_t types = input_.Below(4);
    for (size_t i = 0; i < types; ++i) AddType();
    const size_t commands = input_.Below(4);
    for (size_t i = 0; i < commands; ++i) AddCommand();
    info_.process_types = Rarely() ? nullptr : types_.data();
    info_.process_type_count = Rarely() ? input_.Word() : types;
    info_.commands = Rarely() ? nullptr : commands_.data();
    info_.command_count = Rarely() ? input_.Word() : commands;
    // A count that is wrong but not absurd cannot be seen.
    if (info_.process_type_count <= handlers::kMaxPluginEntries) {
      info_.process_type_count = types;
    }
    if (info_.command_count <= handlers::kMaxPluginEntries) {
      info_.command_count = commands;
    }
  }

  [[nodiscard]] const actord_plugin_info& info() const { return info_; }
  [[nodiscard]] size_t bytes() {
    return Rarely() ? input_.Below(sizeof(info_) + 1) : sizeof(info_);
  }

 private:
  bool Rarely() { return input_.Byte() % 16 == 15; }

  uint32_t Size(size_t whole) {
    return static_cast<uint32_t>(Rarely() ? input_.Word() : whole);
  }

  const char* Name(const char* usual) {
    if (Rarely()) return nullptr;
    if (!Rarely()) return usual;
    texts_.push_back(input_.Text());
    return texts_.back().c_str();
  }

  // A size that covers more than the struct could not be seen.
  static uint32_t Within(uint32_t size, size_t bytes) {
    return size > bytes ? static_cast<uint32_t>(bytes) : size;
  }

  void AddType() {
    if (Rarely()) {
      types_.push_back(nullptr);
      return;
    }
    static constexpr const char* kNames[] = {"a", "b", "c", "d"};
    auto& type = type_storage_.emplace_back();
    type.struct_size = Within(Size(sizeof(type)), sizeof(type));
    type.flags = Rarely() ? input_.Byte() : 0;
    type.name = Name(kNames[types_.size()]);
    type.doc = Name("doc");
    type.state_size = Rarely() ? input_.Word() : 8;
    type.state_align = Rarely() ? input_.Word() : 8;
    auto& methods = methods_.emplace_back();
    const size_t count = 1 + input_.Below(3);
    for (size_t i = 0; i < count; ++i) {
      methods.push_back({Name(kNames[i]), Name("doc")});
    }
    type.methods = Rarely() ? nullptr : methods.data();
    type.method_count = Rarely() ? 0 : count;
    type.init = Rarely() ? nullptr : Init;
    type.step = Rarely() ? nullptr : Step;
    type.close = Rarely() ? nullptr : Close;
    type.snapshot = Rarely() ? Snapshot : nullptr;
    type.restore = Rarely() ? Restore : nullptr;
    type.durability = Rarely() ? input_.Byte() % 4 : 0;
    type.flat_version = Rarely() ? static_cast<uint32_t>(input_.Word()) : 0;
    type.flat_size = Rarely() ? input_.Byte() : 0;
    types_.push_back(&type);
  }

  void AddCommand() {
    if (Rarely()) {
      commands_.push_back(nullptr);
      return;
    }
    static constexpr const char* kNames[] = {"a.x", "b.x", "c.x", "d.x"};
    auto& command = command_storage_.emplace_back();
    command.struct_size = Within(Size(sizeof(command)), sizeof(command));
    command.mode = Rarely() ? input_.Byte() : ACTORD_HANDLER_INLINE;
    command.command = Name(kNames[commands_.size()]);
    command.doc = Name("doc");
    command.handle = Rarely() ? nullptr : Handle;
    commands_.push_back(&command);
  }

  Input input_;
  std::deque<std::string> texts_;
  std::deque<actord_process_type> type_storage_;
  std::deque<std::vector<actord_method>> methods_;
  std::deque<actord_command_handler> command_storage_;
  std::vector<const actord_process_type*> types_;
  std::vector<const actord_command_handler*> commands_;
  actord_plugin_info info_{};
};

void CheckTable(Input input) {
  Table table(input);
  const actord_plugin_info& info = table.info();
  const absl::Status checked = handlers::CheckPluginInfo(&info, table.bytes());
  if (!checked.ok()) {
    Require(!checked.message().empty(), "a refusal has a reason");
    return;
  }
  runtime::CatalogEntries entries{.plugin = info.name, .version = info.version};
  entries.process_types = {info.process_types,
                           info.process_types + info.process_type_count};
  for (size_t i = 0; i < info.command_count; ++i) {
    entries.commands.push_back({info.commands[i], nullptr});
  }
  runtime::Catalog catalog;
  const size_t before = catalog.process_types().size();
  const auto added = catalog.Add(entries);
  if (!added.ok()) {
    Require(!added.status().message().empty(), "a refusal has a reason");
    Require(catalog.process_types().size() == before, "all or nothing");
    return;
  }
  Require(added->size() == info.process_type_count, "every type is in force");
  for (const runtime::ProcessType* type : *added) {
    Require(catalog.FindProcessType(type->name) == type, "types are found");
    Require(type->FindMethod("") == 0, "a type has a method");
  }
  entries.replace = true;
  entries.upgrade_processes = true;
  Require(catalog.Add(entries).ok(), "the same plugin replaces itself");
}

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::fuzz::CheckTable({data, size});
  return 0;
}
