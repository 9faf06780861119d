#include "daemon/config.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/config_file.h"
#include "daemon/config_keys.h"

namespace actord::daemon {

absl::Status ApplyConfigValues(const std::vector<ConfigValue>& values,
                               Config& config) {
  for (const ConfigValue& value : values) {
    absl::Status status = value.key->parse(value.texts, config);
    // Everything was within its limits before this value, so what is not now is
    // this value's doing.
    if (status.ok()) status = runtime::ValidateOptions(config.runtime);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.origin, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

Environment SystemEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

// Variables of other names are left alone: orchestrators put their own
// ACTORD_... (ACTORD_PORT, ACTORD_SERVICE_HOST) beside ours.
std::vector<ConfigValue> ReadConfigEnvironment(const Environment& environment) {
  std::vector<ConfigValue> values;
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string name = EnvironmentName(key);
    const std::optional<std::string> text = environment(name);
    if (!text.has_value()) continue;
    ConfigValue value{&key, {*text}, name};
    if (key.is_list)
      value.texts = absl::StrSplit(*text, ',', absl::SkipEmpty());
    values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<Config> LoadConfig(const std::string& file,
                                  const std::vector<ConfigValue>& command_line,
                                  const Environment& environment) {
  Config config;
  const std::string path =
      !file.empty() ? file : environment("ACTORD_CONFIG").value_or("");
  if (!path.empty()) {
    const absl::StatusOr<std::vector<ConfigValue>> values =
        ReadConfigFile(path);
    if (!values.ok()) return values.status();
    const absl::Status status = ApplyConfigValues(*values, config);
    if (!status.ok()) return status;
  }
  absl::Status status =
      ApplyConfigValues(ReadConfigEnvironment(environment), config);
  if (status.ok()) status = ApplyConfigValues(command_line, config);
  if (status.ok() && config.listen.empty()) {
    status = absl::InvalidArgumentError(
        "server.listen: at least one address is needed");
  }
  if (!status.ok()) return status;
  return config;
}

std::string PrintConfig(const Config& config) {
  std::string text;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    const size_t dot = key.path.find('.');
    if (key.path.substr(0, dot) != section) {
      section = key.path.substr(0, dot);
      absl::StrAppend(&text, text.empty() ? "" : "\n", "[",
                      std::string(section), "]\n");
    }
    absl::StrAppend(&text, "# ", std::string(key.doc), "\n",
                    std::string(key.path.substr(dot + 1)), " = ",
                    key.print(config), "\n");
  }
  return text;
}

}  // namespace actord::daemon
