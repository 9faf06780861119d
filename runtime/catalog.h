// What a daemon can run: process types and command handlers, each with the
// plugin it came from.
//
// Thread-safety: built by one thread before Runtime::Create, constant
// afterwards. Ownership: borrows the descriptors and handler objects; the
// plugins that own them must outlive the runtime.
#pragma once

#include <actord/abi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace actord::runtime {

struct ProcessType {
  const actord_process_type* descriptor = nullptr;
  std::string name;
  std::string plugin;  // name of the plugin that brought it
  uint32_t index = 0;  // position in Catalog::process_types()

  // Index of the method; the first for "". nullopt if there is none of that
  // name.
  [[nodiscard]] std::optional<uint32_t> FindMethod(
      std::string_view method) const;
};

struct CommandHandler {
  const actord_command_handler* descriptor = nullptr;
  void* self = nullptr;  // what `create` made
  std::string name;
  std::string plugin;
};

class Catalog {
 public:
  // Check the descriptor (sizes, names, pointers, limits of abi.h) and add it.
  // INVALID_ARGUMENT says what is wrong with a descriptor, ALREADY_EXISTS which
  // plugin has the name already.
  absl::Status AddProcessType(const actord_process_type* descriptor,
                              std::string_view plugin);
  absl::Status AddCommand(const actord_command_handler* descriptor, void* self,
                          std::string_view plugin);

  [[nodiscard]] const ProcessType* FindProcessType(std::string_view name) const;
  [[nodiscard]] const CommandHandler* FindCommand(std::string_view name) const;
  [[nodiscard]] const std::vector<std::unique_ptr<ProcessType>>& process_types()
      const {
    return process_types_;
  }
  [[nodiscard]] const std::vector<std::unique_ptr<CommandHandler>>& commands()
      const {
    return commands_;
  }

 private:
  std::vector<std::unique_ptr<ProcessType>> process_types_;
  std::vector<std::unique_ptr<CommandHandler>> commands_;
  absl::flat_hash_map<std::string, const ProcessType*> process_type_by_name_;
  absl::flat_hash_map<std::string, const CommandHandler*> command_by_name_;
};

}  // namespace actord::runtime
