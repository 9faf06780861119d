// The settings of the daemon, and the precedence of their sources: command line
// > environment > file > default.
//
// Every key is one row: in config_keys.cc; in config_keys_network.cc,
// _quotas.cc or _store.cc for their sections; for a limit of the runtime, in
// runtime/settings/limit_table.h. Options, environment variables, file, --help
// and --print-config are all derived from it.
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
#include "runtime/process/owner_limits.h"
#include "runtime/settings/options.h"

namespace actord::daemon {

enum class LogFormat { kConsole, kJson };
// Whether calls need tokens; kByTokens: kEnforce if there is a file of tokens,
// and otherwise kOff.
enum class AuthMode { kByTokens, kOff, kObserve, kEnforce };

// Paths of PEM files (daemon/tls/); "": not set.
struct TlsSettings {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string crl;
  absl::Duration reload_interval = absl::Seconds(30);
};

// The quotas of one client (daemon/access/client_quotas.h). 0: no limit; for a
// burst, the amount of one second.
struct QuotaSettings {
  uint64_t requests_per_second = 0;
  uint64_t request_burst = 0;
  uint64_t bytes_per_second = 0;
  uint64_t bytes_burst = 0;
  // Open streams, and open TCP connections.
  uint64_t streams = 0;
  uint64_t connections = 0;
  // The limits of its processes (runtime/process/owner_limits.h).
  uint64_t processes = 0;
  uint64_t mailbox_bytes = 0;
  uint64_t yield_bytes = 0;

  // A burst alone limits nothing.
  [[nodiscard]] bool IsAny() const {
    return LimitsCalls() || OfRuntime() != runtime::OwnerQuotas{};
  }
  // Whether calls, streams or connections are limited.
  [[nodiscard]] bool LimitsCalls() const {
    return requests_per_second != 0 || bytes_per_second != 0 || streams != 0 ||
           connections != 0;
  }
  [[nodiscard]] runtime::OwnerQuotas OfRuntime() const {
    return {.processes = processes,
            .mailbox_bytes = mailbox_bytes,
            .yield_bytes = yield_bytes};
  }
  bool operator==(const QuotaSettings&) const = default;
};

// The store of durable processes.
struct StoreSettings {
  std::string directory;  // "": all processes are volatile
  size_t segment_bytes = size_t{64} << 20;
  // 0: 16 MiB, or a quarter of segment_bytes if that is less.
  size_t max_record_bytes = 0;
  size_t max_unsynced_bytes = size_t{16} << 20;
  // 0: the smaller of 5 % of the file system and 512 MiB.
  size_t disk_reserve = 0;
  size_t checkpoint_bytes = size_t{256} << 20;
  absl::Duration checkpoint_interval = absl::Minutes(1);
  absl::Duration result_ttl = absl::Hours(168);
  // Time and maximum number for which request IDs of Submits of durable
  // processes are remembered. The same limits apply to message IDs for durable
  // processes.
  absl::Duration request_id_ttl = absl::Hours(24);
  size_t request_id_max = 1'000'000;
  // How long the history of a durable process can be read after its end.
  absl::Duration history_retention = absl::Hours(24);
  // 0: no process goes into quarantine for crashes.
  uint32_t max_crashes = 3;
  // Maximum number of kept plugin files without a process in the store.
  uint32_t keep_plugins = 10;
};

struct TraceSettings {
  // Whether calls carry the trace of their metadata on.
  bool propagate = true;
  // The address of the collector that gets the spans (daemon/spans/); "": there
  // are no spans.
  std::string endpoint;
  // The share of the calls without a trace that begin one, from 0 to 1.
  double sample = 0;
  // Maximum number of spans that wait for the collector.
  size_t queue = 4096;
};

struct Config {
  // Addresses, "host:port" or "unix:/path"; port 0 picks a free port.
  std::vector<std::string> listen = {"127.0.0.1:7600"};
  // Access to the Unix sockets: a mode such as "0660", and the name or number
  // of a group. "": the system's default for new files.
  std::string unix_mode;
  std::string unix_group;
  // Not a setting: listening sockets that a service manager has opened. With
  // them, `listen` is empty unless it is set.
  std::vector<int> inherited_sockets;
  bool listen_is_default = true;
  // Not a setting: the settings that have a source, each with its value and the
  // source that counts, for the log.
  std::vector<std::string> set;
  // "": none.
  std::string port_file;
  int max_concurrent_streams = 1'000;
  // InfiniteDuration: a connection has no maximum age.
  absl::Duration max_connection_age = absl::InfiniteDuration();
  // Whether `listen` may have addresses beyond this machine without TLS.
  bool insecure_listen = false;

  // Addresses of the admin port (daemon/admin/); empty: there is none.
  std::vector<std::string> admin_listen;
  // "": none.
  std::string admin_port_file;
  // Whether `admin_listen` may have addresses beyond this machine.
  bool admin_insecure_listen = false;
  // Host names under which clients may address it, besides its addresses.
  std::vector<std::string> admin_hosts;
  // Whether the admin port has the JSON API (daemon/api/).
  bool admin_api = false;
  // Path of the key that signs links to yields (daemon/links/); "": none.
  std::string admin_link_key;
  // The prefix of all links: "https://approve.example.com"; "": the first TCP
  // address of the admin port.
  std::string admin_link_url;

  TlsSettings tls;

  // Open connections, in all and of one address. 0: as many as the descriptors
  // allow; half of these.
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;
  // Descriptors that connections leave to the other parts of the daemon.
  size_t reserved_descriptors = 64;
  // From the acceptance of a connection to the client's HTTP/2 settings.
  absl::Duration handshake_timeout = absl::Seconds(10);
  // Answers that the client of one connection has not read.
  size_t max_unread_bytes = size_t{16} << 20;

  // Path of the file of tokens; "": none.
  std::string auth_tokens;
  AuthMode auth_mode = AuthMode::kByTokens;
  QuotaSettings quotas;

  std::vector<std::string> plugins;
  std::vector<std::string> plugin_dirs;
  // Directory for private copies; "": the default place; "memory": none.
  std::string plugin_cache;
  // SHA-256 of the plugins that may be loaded; empty: all.
  std::vector<std::string> plugin_digests;
  std::vector<std::string> file_read_dirs;

  // Path of a supervisor's input; "": none.
  std::string boot_tree;
  absl::Duration boot_timeout = absl::Seconds(30);
  // The tree of the file replaces a tree of the store that differs. Only an
  // option; the configuration file does not have it.
  bool boot_tree_replace = false;

  StoreSettings store;

  runtime::LogLevel log_level = runtime::LogLevel::kInfo;
  LogFormat log_format = LogFormat::kConsole;

  TraceSettings traces;

  // The daemon sets `clock` and `log`; they are not configurable.
  runtime::RuntimeOptions runtime;

  // Time and maximum number for which other request IDs of Submit are
  // remembered. The same limits apply to message IDs of Send, which are counted
  // separately.
  absl::Duration request_id_ttl = absl::Minutes(10);
  size_t request_id_max = 100'000;

  absl::Duration drain_timeout = absl::Seconds(30);
  // Time for steps that do not return after their processes were terminated.
  absl::Duration force_timeout = absl::Seconds(5);
};

// Never kByTokens.
inline AuthMode AuthModeInForce(const Config& config) {
  if (config.auth_mode != AuthMode::kByTokens) return config.auth_mode;
  return config.auth_tokens.empty() ? AuthMode::kOff : AuthMode::kEnforce;
}

struct ConfigKey;

// One setting as a source gives it.
struct ConfigValue {
  const ConfigKey* key = nullptr;
  // Exactly one text, unless the key is a list.
  std::vector<std::string> texts;
  // For messages: "actord.toml:3: log.level", "--workers".
  std::string origin;
  // For the end of a message: the column and the text of the line. "": the
  // value is not from a file.
  std::string in_line = {};
};

// "origin: mistake", and the place in the line.
absl::Status WrongValue(const ConfigValue& value, std::string_view mistake);

// Sets the values in their order; a later value replaces an earlier one. The
// error has a line for each malformed value, with its origin.
absl::Status ApplyConfigValues(const std::vector<ConfigValue>& values,
                               Config& config);

// Looks a variable up, like std::getenv.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;
Environment SystemEnvironment();

std::vector<ConfigValue> ReadConfigEnvironment(const Environment& environment);

// A warning for each of these names of variables that is no setting and
// resembles one, such as ACTORD_WORKER.
std::vector<std::string> DoubtVariables(const std::vector<std::string>& names);

// Whether the daemon starts, or runs and reads the file again.
enum class ConfigReading { kFirst, kAgain };

// Reads the whole configuration. If `file` is "", $ACTORD_CONFIG names the
// file; if that is not set either, there is no file. The error has a line for
// each problem (problem_list.h), with its file and line or other origin.
absl::StatusOr<Config> LoadConfig(
    const std::string& file, const std::vector<ConfigValue>& command_line,
    const Environment& environment,
    ConfigReading reading = ConfigReading::kFirst);

// TOML that LoadConfig reads back as the same configuration, with the meaning
// of each key as a comment.
std::string PrintConfig(const Config& config);

}  // namespace actord::daemon
