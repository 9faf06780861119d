#include "daemon/settings/config_keys.h"

#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "daemon/settings/config_codecs.h"

namespace actord::daemon {
namespace {

// An accessor of `member`: a generic lambda, so that one accessor reads and
// writes.
#define ACTORD_MEMBER(member) \
  [](auto& config) -> auto& { return config.member; }

struct KeyText {
  std::string_view path;
  std::string_view option;
  std::string_view value;
  std::string_view doc;
};

ConfigKey Named(KeyText text) {
  ConfigKey key;
  key.path = text.path;
  key.option = text.option;
  key.value = text.value;
  key.doc = std::string(text.doc);
  return key;
}

template <typename Codec, typename Member>
ConfigKey Single(KeyText text, Codec codec, Member member) {
  ConfigKey key = Named(text);
  key.parse = [codec, member](const std::vector<std::string>& texts,
                              Config& config) {
    if (texts.size() != 1) {
      return absl::InvalidArgumentError("takes exactly one value");
    }
    return codec.Parse(texts.front(), member(config));
  };
  key.print = [codec, member](const Config& config) {
    return codec.Print(member(config));
  };
  return key;
}

template <typename Codec, typename Member>
ConfigKey List(KeyText text, Codec codec, Member member) {
  ConfigKey key = Named(text);
  key.is_list = true;
  key.parse = [codec, member](const std::vector<std::string>& texts,
                              Config& config) {
    std::remove_reference_t<decltype(member(config))> values;
    for (const std::string& item : texts) {
      absl::Status status = codec.Parse(item, values.emplace_back());
      if (!status.ok()) return status;
    }
    member(config) = std::move(values);
    return absl::OkStatus();
  };
  key.print = [codec, member](const Config& config) {
    std::vector<std::string> items;
    for (const auto& item : member(config)) items.push_back(codec.Print(item));
    return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
  };
  return key;
}

// A key that SIGHUP changes in a running daemon.
ConfigKey Reloads(ConfigKey key) {
  key.reloads = true;
  key.doc += " Reloaded on SIGHUP.";
  return key;
}

const NumberCodec<size_t> kCount;
const SizeCodec kSize;
const DurationCodec kDuration;

void AddServerKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(List({"server.listen", "listen", "ADDRESS",
                       "Address to serve on, host:port or unix:PATH; port 0 "
                       "picks a free port."},
                      ListenCodec{}, ACTORD_MEMBER(listen)));
  keys.push_back(Single({"server.port_file", "port-file", "PATH",
                         "File to which actord writes the port of each TCP "
                         "address, one a line, once it serves."},
                        TextCodec{}, ACTORD_MEMBER(port_file)));
  keys.push_back(
      Single({"server.max_concurrent_streams", "max-concurrent-streams", "N",
              "Open calls per connection, from 1 to 1000000; further "
              "calls wait in the client."},
             NumberCodec<int>{.min = 1, .max = 1'000'000},
             ACTORD_MEMBER(max_concurrent_streams)));
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

void AddPluginKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      List({"plugins.files", "plugin", "PATH", "Plugin to load at the start."},
           NonEmptyTextCodec{}, ACTORD_MEMBER(plugins)));
  keys.push_back(List({"plugins.directories", "plugin-dir", "DIR",
                       "Directory from which all *.so are loaded at the "
                       "start, sorted by name; LoadPlugin loads from it, too."},
                      NonEmptyTextCodec{}, ACTORD_MEMBER(plugin_dirs)));
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
  keys.push_back(Single({"boot.tree", "boot-tree", "PATH",
                         "JSON file with the input of a supervisor, which the "
                         "daemon starts under the name boot before it serves."},
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
  keys.push_back(
      Reloads(Single({"limits.max_processes", "max-processes", "N",
                      "Maximum number of live processes, up to 268435456."},
                     kCount, ACTORD_MEMBER(runtime.max_processes))));
  keys.push_back(Reloads(
      Single({"limits.max_payload_bytes", "max-payload-bytes", "SIZE",
              "Maximum size of an input, a message or a result, up to 64MiB."},
             kSize, ACTORD_MEMBER(runtime.max_payload_bytes))));
  keys.push_back(Reloads(
      Single({"limits.max_mailbox_messages", "max-mailbox-messages", "N",
              "Maximum number of messages in one mailbox, up to 900000."},
             kCount, ACTORD_MEMBER(runtime.max_mailbox_messages))));
  keys.push_back(Reloads(
      Single({"limits.max_mailbox_bytes", "max-mailbox-bytes", "SIZE",
              "Maximum memory of the messages in one mailbox, up to 1GiB."},
             kSize, ACTORD_MEMBER(runtime.max_mailbox_bytes))));
  keys.push_back(Reloads(Single(
      {"limits.max_yields", "max-yields", "N",
       "Maximum number of outstanding yields of one process, up to 16000."},
      kCount, ACTORD_MEMBER(runtime.max_yields))));
  keys.push_back(List(
      {"limits.max_processes_per_type", "max-processes-per-type", "\"TYPE N\"",
       "Maximum number of live processes of one type: the "
       "type's name, a space and the number."},
      TypeLimitCodec{}, ACTORD_MEMBER(runtime.type_limits)));
  keys.push_back(Reloads(
      Single({"limits.max_steps", "max-steps", "N",
              "Maximum number of steps of a process; a process that "
              "exceeds it fails. 0 means no limit."},
             NumberCodec<uint64_t>{}, ACTORD_MEMBER(runtime.max_steps))));
  keys.push_back(
      Reloads(Single({"limits.max_lifetime", "max-lifetime", "DURATION",
                      "Maximum lifetime of a process, at least 1ms; a "
                      "process that exceeds it fails. none means no limit."},
                     kDuration, ACTORD_MEMBER(runtime.max_lifetime))));
}

void AddDeadLetterKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Reloads(Single({"dead_letters.max_count", "dead-letter-max-count", "N",
                      "Maximum number of kept dead letters (undeliverable "
                      "messages), up to 10000000; the oldest are dropped "
                      "first. 0 keeps none."},
                     kCount, ACTORD_MEMBER(runtime.dead_letter_max_count))));
  keys.push_back(
      Reloads(Single({"dead_letters.max_bytes", "dead-letter-max-bytes", "SIZE",
                      "Maximum memory for dead letters; the oldest are "
                      "dropped first. 0 keeps none."},
                     kSize, ACTORD_MEMBER(runtime.dead_letter_max_bytes))));
}

void AddRetentionKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Reloads(Single({"yields.default_timeout", "yield-timeout", "DURATION",
                      "Timeout of yields that state none of their own; none "
                      "means no timeout."},
                     kDuration, ACTORD_MEMBER(runtime.default_yield_timeout))));
  keys.push_back(Reloads(
      Single({"yields.external_max_bytes", "yield-external-max-bytes", "SIZE",
              "Maximum memory for all external yields that wait; "
              "further yields fail."},
             kSize, ACTORD_MEMBER(runtime.max_external_yield_bytes))));
  keys.push_back(
      Reloads(Single({"yields.answer_ttl", "yield-answer-ttl", "DURATION",
                      "How long actord remembers the completion of an "
                      "external yield, to recognise repetitions."},
                     kDuration, ACTORD_MEMBER(runtime.answered_yield_ttl))));
  keys.push_back(
      Reloads(Single({"yields.answer_max", "yield-answer-max", "N",
                      "Maximum number of remembered completions, up to "
                      "100000000; the oldest are dropped first."},
                     kCount, ACTORD_MEMBER(runtime.answered_yield_max))));
  keys.push_back(
      Reloads(Single({"results.ttl", "result-ttl", "DURATION",
                      "How long actord keeps the result of an ended process."},
                     kDuration, ACTORD_MEMBER(runtime.result_ttl))));
  keys.push_back(Reloads(
      Single({"results.max_bytes", "result-max-bytes", "SIZE",
              "Maximum memory for kept results; the oldest are dropped first."},
             kSize, ACTORD_MEMBER(runtime.result_max_bytes))));
  keys.push_back(Single({"requests.id_ttl", "request-id-ttl", "DURATION",
                         "How long actord remembers a request ID of Submit and "
                         "a message ID of Send."},
                        kDuration, ACTORD_MEMBER(request_id_ttl)));
  keys.push_back(Single({"requests.id_max", "request-id-max", "N",
                         "Maximum number of remembered request IDs, and of "
                         "message IDs; the oldest are dropped first."},
                        kCount, ACTORD_MEMBER(request_id_max)));
}

void AddWatchKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Reloads(Single({"watch.max_watches", "watch-max-watches", "N",
                      "Maximum number of open watches, up to 1000000."},
                     kCount, ACTORD_MEMBER(runtime.max_watches))));
  keys.push_back(
      Reloads(Single({"watch.max_events", "watch-max-events", "N",
                      "Maximum number of events (starts and ends of "
                      "processes) kept for watches, up to 10000000; the "
                      "oldest are dropped first, and a watch that had not "
                      "read them is told."},
                     kCount, ACTORD_MEMBER(runtime.watch_max_events))));
  keys.push_back(
      Reloads(Single({"watch.max_bytes", "watch-max-bytes", "SIZE",
                      "Maximum memory for the events kept for watches; the "
                      "oldest are dropped first."},
                     kSize, ACTORD_MEMBER(runtime.watch_max_bytes))));
  keys.push_back(
      Reloads(Single({"watch.retention", "watch-retention", "DURATION",
                      "How long events are recorded after the last watch has "
                      "closed, so that it can be resumed; 0s means not at "
                      "all, none means for ever."},
                     kDuration, ACTORD_MEMBER(runtime.watch_retention))));
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

#undef ACTORD_MEMBER

}  // namespace

const std::vector<ConfigKey>& ConfigKeys() {
  static const std::vector<ConfigKey>* const keys = [] {
    auto* all = new std::vector<ConfigKey>;
    AddServerKeys(*all);
    AddPluginKeys(*all);
    AddBootKeys(*all);
    AddSchedulerKeys(*all);
    AddLimitKeys(*all);
    AddDeadLetterKeys(*all);
    AddRetentionKeys(*all);
    AddWatchKeys(*all);
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
