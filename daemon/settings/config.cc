#include "daemon/settings/config.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "daemon/problems/problem_list.h"
#include "daemon/settings/config_file.h"
#include "daemon/settings/config_keys.h"
#include "identity/names/nearest.h"

namespace actord::daemon {

namespace {

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

// Checks the runtime's limits, some of which relate several values. Names the
// origin of each single value that is wrong.
void CheckLimits(std::vector<ConfigValue> values, ProblemList& problems) {
  for (;;) {
    Config config;
    absl::Status status = ApplyConfigValues(values, config);
    if (status.ok()) status = runtime::ValidateOptions(config.runtime);
    if (status.ok()) return;
    const auto culprit = std::find_if(
        values.begin(), values.end(), [&](const ConfigValue& value) {
          Config alone;
          return value.key->parse(value.texts, alone).ok() &&
                 runtime::ValidateOptions(alone.runtime).message() ==
                     status.message();
        });
    if (culprit == values.end()) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat("configuration: ", status.message())));
      return;
    }
    problems.Add(WrongValue(*culprit, MessageOf(status)));
    // The other values may be wrong, too.
    values.erase(culprit);
  }
}

// An error of the value in force, which may be the default.
absl::Status WrongSetting(std::string_view path,
                          const std::vector<ConfigValue>& values,
                          std::string_view mistake) {
  ConfigValue in_force{nullptr, {}, std::string(path)};
  for (const ConfigValue& value : values) {
    if (value.key->path == path) in_force = value;
  }
  return WrongValue(in_force, mistake);
}

absl::Status CheckAuth(const Config& config,
                       const std::vector<ConfigValue>& values) {
  const AuthMode mode = AuthModeInForce(config);
  if (mode == AuthMode::kOff || !config.auth_tokens.empty()) {
    return absl::OkStatus();
  }
  return WrongSetting(
      "auth.mode", values,
      absl::StrCat(mode == AuthMode::kObserve ? "observe" : "enforce",
                   " needs a file of tokens, auth.tokens; actorctl token new "
                   "makes one"));
}

// Sets the values that can be parsed, and returns them.
std::vector<ConfigValue> ApplyGoodValues(const std::vector<ConfigValue>& values,
                                         Config& config,
                                         ProblemList& problems) {
  std::vector<ConfigValue> good;
  for (const ConfigValue& value : values) {
    const absl::Status status = value.key->parse(value.texts, config);
    if (status.ok()) {
      good.push_back(value);
    } else {
      problems.Add(WrongValue(value, MessageOf(status)));
    }
  }
  return good;
}

// For Config::set.
std::vector<std::string> SetBy(const std::vector<ConfigValue>& values,
                               const Config& config) {
  std::vector<std::string> set;
  for (const ConfigKey& key : ConfigKeys()) {
    // The last source counts.
    const auto value = std::find_if(
        values.rbegin(), values.rend(),
        [&key](const ConfigValue& one) { return one.key == &key; });
    if (value == values.rend()) continue;
    // The origin in a file names the key, too.
    const std::string path(key.path);
    set.push_back(absl::StrCat(
        path, " = ", key.print(config), " (",
        absl::StripSuffix(value->origin, absl::StrCat(": ", path)), ")"));
  }
  return set;
}

}  // namespace

absl::Status WrongValue(const ConfigValue& value, std::string_view mistake) {
  return absl::InvalidArgumentError(
      absl::StrCat(value.origin, ": ", std::string(mistake), value.in_line));
}

absl::Status ApplyConfigValues(const std::vector<ConfigValue>& values,
                               Config& config) {
  ProblemList problems;
  ApplyGoodValues(values, config, problems);
  return problems.status();
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

std::vector<std::string> DoubtVariables(const std::vector<std::string>& names) {
  const std::string kPrefix = "ACTORD_";
  // Kubernetes sets these variables for a service of the name actord.
  const auto is_of_a_service = [](std::string_view rest) {
    return rest == "PORT" || rest.starts_with("SERVICE_") ||
           (rest.starts_with("PORT_") && rest.size() > 5 &&
            absl::ascii_isdigit(static_cast<unsigned char>(rest[5])));
  };
  std::vector<std::string> known = {"CONFIG"};
  for (const ConfigKey& key : ConfigKeys()) {
    known.push_back(EnvironmentName(key).substr(kPrefix.size()));
  }
  std::vector<std::string> doubts;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string rest = name.substr(kPrefix.size());
    if (is_of_a_service(rest) || absl::c_linear_search(known, rest)) continue;
    const std::string nearest = identity::NearestName(rest, known);
    if (nearest.empty()) continue;
    doubts.push_back(absl::StrCat("the variable ", name,
                                  " of the environment is ignored, because "
                                  "no setting has this name; did you mean ",
                                  kPrefix, nearest, "?"));
  }
  return doubts;
}

absl::StatusOr<Config> LoadConfig(const std::string& file,
                                  const std::vector<ConfigValue>& command_line,
                                  const Environment& environment,
                                  ConfigReading reading) {
  const std::string path =
      !file.empty() ? file : environment("ACTORD_CONFIG").value_or("");
  ProblemList problems;
  std::vector<ConfigValue> values;
  if (!path.empty()) values = ReadConfigFile(path, reading, problems);
  const std::vector<ConfigValue> from_environment =
      ReadConfigEnvironment(environment);
  values.insert(values.end(), from_environment.begin(), from_environment.end());
  values.insert(values.end(), command_line.begin(), command_line.end());

  Config config;
  values = ApplyGoodValues(values, config, problems);
  for (const ConfigValue& value : values) {
    if (value.key->path == "server.listen") config.listen_is_default = false;
  }
  CheckLimits(values, problems);
  if (config.listen.empty()) {
    problems.Add(WrongSetting("server.listen", values,
                              "at least one address is needed"));
  }
  problems.Add(CheckAuth(config, values));
  if (!problems.empty()) return problems.status();
  config.set = SetBy(values, config);
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
