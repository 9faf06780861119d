#include "daemon/settings/config.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/settings/config_file.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {

namespace {

// Checks the runtime's limits, some of which relate several values. Names the
// origin of a wrong value, if it is a single one.
absl::Status CheckLimits(const Config& config,
                         const std::vector<ConfigValue>& values) {
  absl::Status status = runtime::ValidateOptions(config.runtime);
  if (status.ok()) return status;
  for (const ConfigValue& value : values) {
    Config alone;
    if (!value.key->parse(value.texts, alone).ok()) continue;
    if (runtime::ValidateOptions(alone.runtime).message() == status.message()) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.origin, ": ", status.message()));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("configuration: ", status.message()));
}

absl::Status CheckAuth(const Config& config) {
  const AuthMode mode = AuthModeInForce(config);
  if (mode == AuthMode::kOff || !config.auth_tokens.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "auth.mode: ", mode == AuthMode::kObserve ? "observe" : "enforce",
      " needs a file of tokens, auth.tokens; actorctl token new "
      "makes one"));
}

}  // namespace

absl::Status ApplyConfigValues(const std::vector<ConfigValue>& values,
                               Config& config) {
  for (const ConfigValue& value : values) {
    const absl::Status status = value.key->parse(value.texts, config);
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

// Other variables are ignored: orchestrators set their own ACTORD_... variables
// (ACTORD_PORT, ACTORD_SERVICE_HOST).
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
                                  const Environment& environment,
                                  ConfigReading reading) {
  const std::string path =
      !file.empty() ? file : environment("ACTORD_CONFIG").value_or("");
  std::vector<ConfigValue> values;
  if (!path.empty()) {
    absl::StatusOr<std::vector<ConfigValue>> from_file =
        ReadConfigFile(path, reading);
    if (!from_file.ok()) return from_file.status();
    values = *std::move(from_file);
  }
  const std::vector<ConfigValue> from_environment =
      ReadConfigEnvironment(environment);
  values.insert(values.end(), from_environment.begin(), from_environment.end());
  values.insert(values.end(), command_line.begin(), command_line.end());

  Config config;
  absl::Status status = ApplyConfigValues(values, config);
  for (const ConfigValue& value : values) {
    if (value.key->path == "server.listen") config.listen_is_default = false;
  }
  if (status.ok()) status = CheckLimits(config, values);
  if (status.ok() && config.listen.empty()) {
    status = absl::InvalidArgumentError(
        "server.listen: at least one address is needed");
  }
  if (status.ok()) status = CheckAuth(config);
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
