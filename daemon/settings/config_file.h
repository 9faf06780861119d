// Reads the configuration file.
//
// Thread-safety: pure functions, apart from reading the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/problems/problem_list.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// The settings of a TOML text, in the order of its lines. Malformed TOML, an
// unknown key, and a value of the wrong kind are problems, "name:line: ...".
// The other settings are returned. Values are not parsed yet
// (ApplyConfigValues).
std::vector<ConfigValue> ReadConfigText(std::string_view text,
                                        std::string_view name,
                                        ProblemList& problems);

// The same. All problems are the lines of one error.
absl::StatusOr<std::vector<ConfigValue>> ParseConfigText(std::string_view text,
                                                         std::string_view name);

// A longer file is refused: it cannot be a configuration.
inline constexpr size_t kMaxConfigFileBytes = size_t{1} << 20;
// On a reload reads only a regular file, see FileReading.
std::vector<ConfigValue> ReadConfigFile(const std::string& path,
                                        ConfigReading reading,
                                        ProblemList& problems);

}  // namespace actord::daemon
