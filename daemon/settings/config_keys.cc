#include "daemon/settings/config_keys.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/settings/config_codecs.h"
#include "daemon/settings/config_key_forms.h"
#include "runtime/settings/limit_info.h"

namespace actord::daemon {
namespace {

template <typename Codec, typename Value>
ConfigKey OfLimit(const runtime::LimitRow& row, std::string_view value,
                  Codec codec, Value runtime::Limits::*member) {
  return Reloads(Single(
      {row.key, row.option, value, row.help},
      codec, [member](auto& config) -> auto& {
        return config.runtime.*member;
      }));
}

ConfigKey OfLimit(const runtime::LimitRow& row) {
  switch (row.kind) {
    case runtime::LimitKind::kCount:
    case runtime::LimitKind::kCountOrNone:
      return OfLimit(row, "N", kCount, row.number);
    case runtime::LimitKind::kBytes:
      return OfLimit(row, "SIZE", kSize, row.number);
    case runtime::LimitKind::kDuration:
    case runtime::LimitKind::kDurationOrNone:
      break;
  }
  return OfLimit(row, "DURATION", kDuration, row.duration);
}

// Adds the keys of the runtime's limits that stand in the section.
void AddLimits(std::string_view section, std::vector<ConfigKey>& keys) {
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    const std::string_view key = row.key;
    if (key.substr(0, key.find('.')) == section) keys.push_back(OfLimit(row));
  }
}

void AddLogKeys(std::vector<ConfigKey>& keys) {
  const ChoiceCodec<runtime::LogLevel> level{
      {{"debug", runtime::LogLevel::kDebug},
       {"info", runtime::LogLevel::kInfo},
       {"warning", runtime::LogLevel::kWarning},
       {"error", runtime::LogLevel::kError}}};
  keys.push_back(
      Reloads(Single({"log.level", "log-level", "LEVEL",
                      "Minimum log level: debug, info, warning or error."},
                     level, ACTORD_MEMBER(log_level))));
  const ChoiceCodec<LogFormat> format{
      {{"console", LogFormat::kConsole}, {"json", LogFormat::kJson}}};
  keys.push_back(
      Single({"log.format", "log-format", "FORMAT",
              "Format of log lines on standard error: console or json."},
             format, ACTORD_MEMBER(log_format)));
}

void AddTraceKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Flag({"traces.propagate", "traces-propagate", "[BOOL]",
            "Whether submissions, messages and calls belong to the trace in "
            "the metadata entries traceparent and tracestate of their RPC, "
            "true or false. The fields traceparent of requests count in any "
            "case."},
           ACTORD_MEMBER(traces.propagate)));
  keys.push_back(
      Single({"traces.endpoint", "traces-endpoint", "URL",
              "Address of a collector of OpenTelemetry that gets the spans of "
              "traced calls and steps, such as http://127.0.0.1:4318: OTLP "
              "over HTTP without TLS, to the path /v1/traces below it. Empty: "
              "there are no spans."},
             CollectorUrlCodec{}, ACTORD_MEMBER(traces.endpoint)));
  keys.push_back(
      Single({"traces.sample", "traces-sample", "SHARE",
              "Share of the calls without a trace that begin one of their own, "
              "from 0 to 1. Has an effect only with traces.endpoint."},
             RatioCodec{}, ACTORD_MEMBER(traces.sample)));
  keys.push_back(
      Single({"traces.queue", "traces-queue", "N",
              "Maximum number of spans that wait for the collector, from 512 "
              "to 65536; further spans are dropped and counted."},
             NumberCodec<size_t>{512, 65536}, ACTORD_MEMBER(traces.queue)));
}

void AddAuthKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"auth.tokens", "auth-tokens", "PATH",
              "File of tokens: the hashes of the tokens that clients may "
              "present; actorctl token new makes it. Reloaded on SIGHUP and "
              "when it changes; a file with "
              "an error changes nothing. Empty: no tokens are checked."},
             TextCodec{}, ACTORD_MEMBER(auth_tokens)));
  keys.push_back(Reloads(
      Single({"auth.mode", "auth-mode", "MODE",
              "What happens to calls without a sufficient token: off serves "
              "them; observe serves, counts and logs them; enforce refuses "
              "them. Empty: enforce if auth.tokens is set, else off."},
             ChoiceCodec<AuthMode>{{{"", AuthMode::kByTokens},
                                    {"off", AuthMode::kOff},
                                    {"observe", AuthMode::kObserve},
                                    {"enforce", AuthMode::kEnforce}}},
             ACTORD_MEMBER(auth_mode))));
}

void AddPluginKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      List({"plugins.files", "plugin", "PATH", "Plugin to load at the start."},
           NonEmptyTextCodec{}, ACTORD_MEMBER(plugins)));
  keys.push_back(List({"plugins.directories", "plugin-dir", "DIR",
                       "Directory from which all *.so are loaded at the "
                       "start, sorted by name; LoadPlugin loads from it, too."},
                      NonEmptyTextCodec{}, ACTORD_MEMBER(plugin_dirs)));
  keys.push_back(Single(
      {"plugins.cache", "plugin-cache", "DIR",
       "Directory for copies of plugins, which only the daemon's user may "
       "write: the daemon loads a copy, so that a plugin file may be "
       "overwritten. Absolute, or \"memory\" for copies in memory. "
       "Empty: $CACHE_DIRECTORY/plugins, else "
       "$XDG_CACHE_HOME/actord/plugins, else "
       "$HOME/.cache/actord/plugins. If it cannot be used, copies are in "
       "memory."},
      PluginCacheCodec{}, ACTORD_MEMBER(plugin_cache)));
  keys.push_back(
      List({"plugins.sha256", "plugin-sha256", "DIGEST",
            "SHA-256 of a plugin file that may be loaded, 64 hexadecimal "
            "digits; all others are refused. Empty: every plugin file that "
            "only root and the daemon's user can write may be loaded."},
           DigestCodec{}, ACTORD_MEMBER(plugin_digests)));
  keys.push_back(List({"commands.external", "external", "PATTERN",
                       "Command that programs outside the daemon carry out: a "
                       "name, or a prefix followed by *."},
                      NonEmptyTextCodec{},
                      ACTORD_MEMBER(runtime.external_commands)));
  keys.push_back(List({"commands.policies", "command-policy", "POLICY",
                       "How external commands are leased to remote workers "
                       "and retried: a name, or a prefix followed by *, then "
                       "name=value for max_attempts, lease, attempt_timeout, "
                       "start_timeout, backoff and max_backoff. The first "
                       "policy that matches a command applies."},
                      PolicyCodec{}, ACTORD_MEMBER(runtime.work_policies)));
  keys.push_back(List({"commands.file_read_directories", "file-read-dir", "DIR",
                       "Directory below which the command file.read may read."},
                      NonEmptyTextCodec{}, ACTORD_MEMBER(file_read_dirs)));
}

void AddBootKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"boot.tree", "boot-tree", "PATH",
              "JSON file with the input of a supervisor. The daemon starts "
              "this supervisor under the name boot before it serves."},
             TextCodec{}, ACTORD_MEMBER(boot_tree)));
  keys.push_back(Single({"boot.timeout", "boot-timeout", "DURATION",
                         "Start-up deadline of the boot tree; if it is "
                         "exceeded, the daemon exits with an error."},
                        kDuration, ACTORD_MEMBER(boot_timeout)));
}

void AddSchedulerKeys(std::vector<ConfigKey>& keys) {
  const NumberCodec<int> number;
  keys.push_back(Single({"scheduler.workers", "workers", "N",
                         "Workers of the scheduler, at most 256; 0 means one "
                         "for each CPU that the daemon may use."},
                        number, ACTORD_MEMBER(runtime.workers)));
  keys.push_back(
      Single({"scheduler.max_blocked_threads", "max-blocked-threads", "N",
              "Extra threads that take over workers while steps "
              "block, at most 10000."},
             number, ACTORD_MEMBER(runtime.max_blocked_threads)));
  keys.push_back(Single({"scheduler.blocking_threads", "blocking-threads", "N",
                         "Threads for pooled commands, from 1 to 1024."},
                        number, ACTORD_MEMBER(runtime.blocking_threads)));
  keys.push_back(Single({"scheduler.blocking_queue", "blocking-queue", "N",
                         "Backlog of pooled commands, from 1 to 10000000; "
                         "further commands fail."},
                        kCount, ACTORD_MEMBER(runtime.blocking_queue)));
  keys.push_back(Single({"scheduler.cpu_latency", "cpu-latency", "DURATION",
                         "Maximum wake-up latency of idle CPUs (PM QoS), up to "
                         "1s. 0s keeps idle CPUs polling; none leaves power "
                         "management alone."},
                        kDuration, ACTORD_MEMBER(runtime.cpu_latency)));
}

void AddLimitKeys(std::vector<ConfigKey>& keys) {
  AddLimits("limits", keys);
  // Before the limits of one process.
  const auto after = std::find_if(
      keys.begin(), keys.end(),
      [](const ConfigKey& key) { return key.path == "limits.max_steps"; });
  keys.insert(after,
              List({"limits.max_processes_per_type", "max-processes-per-type",
                    "\"TYPE N\"",
                    "Maximum number of live processes of one type: the "
                    "type's name, a space and the number."},
                   TypeLimitCodec{}, ACTORD_MEMBER(runtime.type_limits)));
}

void AddRequestKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"requests.id_ttl", "request-id-ttl", "DURATION",
              "How long actord remembers a request ID of Submit and "
              "a message ID of Send, unless the store remembers them."},
             kDuration, ACTORD_MEMBER(request_id_ttl)));
  keys.push_back(
      Single({"requests.id_max", "request-id-max", "N",
              "Maximum number of remembered request IDs, and of message IDs, "
              "besides the ones in the store; the oldest are dropped first."},
             kCount, ACTORD_MEMBER(request_id_max)));
}

void AddShutdownKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(Single({"shutdown.drain_timeout", "drain-timeout", "DURATION",
                         "How long processes may take to end by themselves "
                         "after SIGTERM or Shutdown; none means no limit."},
                        kDuration, ACTORD_MEMBER(drain_timeout)));
  keys.push_back(
      Single({"shutdown.force_timeout", "force-timeout", "DURATION",
              "How long the daemon then waits for steps and commands "
              "that do not return, before it exits regardless."},
             kDuration, ACTORD_MEMBER(force_timeout)));
}

}  // namespace

const std::vector<ConfigKey>& ConfigKeys() {
  static const std::vector<ConfigKey>* const keys = [] {
    auto* all = new std::vector<ConfigKey>;
    AddNetworkKeys(*all);
    AddAuthKeys(*all);
    AddQuotaKeys(*all);
    AddLogKeys(*all);
    AddTraceKeys(*all);
    AddPluginKeys(*all);
    AddBootKeys(*all);
    AddStoreKeys(*all);
    AddSchedulerKeys(*all);
    AddLimitKeys(*all);
    AddLimits("dead_letters", *all);
    AddLimits("failures", *all);
    AddLimits("yields", *all);
    AddLimits("results", *all);
    AddRequestKeys(*all);
    AddLimits("watch", *all);
    AddShutdownKeys(*all);
    return all;
  }();
  return *keys;
}

const ConfigKey* FindConfigKey(std::string_view path) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

std::string EnvironmentName(const ConfigKey& key) {
  return absl::StrCat(
      "ACTORD_", absl::AsciiStrToUpper(absl::StrReplaceAll(
                     absl::string_view(key.option.data(), key.option.size()),
                     {{"-", "_"}})));
}

}  // namespace actord::daemon
