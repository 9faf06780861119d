// The commands and process types that are built into every daemon.
//
// Thread-safety and ownership: see HandlerSet.
#pragma once

#include <actord/abi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "handlers/loader/handler_set.h"
#include "handlers/rules/durability.h"

namespace actord::handlers {

// The plugin name of built-in types and commands.
inline constexpr std::string_view kBuiltinPlugin = rules::kBuiltinPlugin;

struct BuiltinOptions {
  // Absolute paths of the directories below which file.read may read. If empty,
  // file.read refuses everything.
  std::vector<std::string> file_read_directories;
  // Larger files are refused. At most the daemon's payload limit.
  size_t file_read_max_bytes = 1 << 20;
  // The name that a live process holds, for lines of log.write; nullopt: none.
  // Empty: the lines have PIDs alone. Any thread.
  std::function<std::optional<std::string>(const actord_pid&)> name_of = {};
};

// INVALID_ARGUMENT: one of the directories is not absolute or cannot be opened.
absl::StatusOr<HandlerSet> CreateBuiltinHandlers(const BuiltinOptions& options,
                                                 const actord_host* host);

// The delay of a built-in command that does nothing but complete after that
// delay; nullopt: another command, or its payload is wrong. Any thread.
std::optional<uint64_t> TimerDelayNs(std::string_view command,
                                     std::string_view payload);

// The built-in process types.
std::vector<const actord_process_type*> BuiltinProcessTypes();

}  // namespace actord::handlers
