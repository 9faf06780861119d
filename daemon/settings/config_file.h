// Reads the configuration file.
//
// Thread-safety: pure functions, apart from reading the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// The settings of a TOML text, in the order of its lines. What is no TOML, a
// key that is not in the table, and a value of the wrong kind are refused with
// "name:line: ...". Values are not interpreted yet (ApplyConfigValues).
absl::StatusOr<std::vector<ConfigValue>> ParseConfigText(std::string_view text,
                                                         std::string_view name);
// Reads again only what is the same the second time, a regular file: a pipe
// would be empty by then, or block for ever.
absl::StatusOr<std::vector<ConfigValue>> ReadConfigFile(const std::string& path,
                                                        ConfigReading reading);

}  // namespace actord::daemon
