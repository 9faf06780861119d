// What can be set about the daemon, and where a setting comes from:
// command line > environment > file > default.
//
// Every key is one row in config_keys.cc; options, environment variables, file,
// --help and --print-config are all derived from it.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/settings/options.h"

namespace actord::daemon {

enum class LogFormat { kConsole, kJson };

struct Config {
  // Addresses, "host:port" or "unix:/path"; port 0 picks a free one.
  std::vector<std::string> listen = {"127.0.0.1:7600"};
  std::string port_file;  // "": none
  int max_concurrent_streams = 10'000;

  std::vector<std::string> plugins;
  std::vector<std::string> plugin_dirs;
  std::vector<std::string> file_read_dirs;

  std::string boot_tree;  // path of a supervisor's input; "": none
  absl::Duration boot_timeout = absl::Seconds(30);

  runtime::LogLevel log_level = runtime::LogLevel::kInfo;
  LogFormat log_format = LogFormat::kConsole;

  // `clock` and `log` are not configured but set by the daemon.
  runtime::RuntimeOptions runtime;

  // How long, and how many, request ids of Submit are remembered; and, apart
  // from them, message ids of Send.
  absl::Duration request_id_ttl = absl::Minutes(10);
  size_t request_id_max = 100'000;

  absl::Duration drain_timeout = absl::Seconds(30);
  // For steps that do not return after their processes were terminated.
  absl::Duration force_timeout = absl::Seconds(5);
};

struct ConfigKey;

// One setting as somebody gave it.
struct ConfigValue {
  const ConfigKey* key = nullptr;
  std::vector<std::string> texts;  // exactly one unless the key is a list
  std::string origin;  // for messages: "actord.toml:3: log.level", "--workers"
};

// Sets the values in their order, each replacing what was there. The error
// names the origin of the value that is malformed.
absl::Status ApplyConfigValues(const std::vector<ConfigValue>& values,
                               Config& config);

// Looks a variable up, like std::getenv.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;
Environment SystemEnvironment();

std::vector<ConfigValue> ReadConfigEnvironment(const Environment& environment);

// Whether the daemon starts, or runs already with what it read once.
enum class ConfigReading { kFirst, kAgain };

// The whole configuration. `file` "" means $ACTORD_CONFIG, and no file if that
// is not set either.
absl::StatusOr<Config> LoadConfig(
    const std::string& file, const std::vector<ConfigValue>& command_line,
    const Environment& environment,
    ConfigReading reading = ConfigReading::kFirst);

// As TOML that LoadConfig reads back to the same configuration, each key with
// its meaning as a comment.
std::string PrintConfig(const Config& config);

}  // namespace actord::daemon
