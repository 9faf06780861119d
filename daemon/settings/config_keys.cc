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

// Parents of `member`: a generic lambda, so that one accessor reads and writes.
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

// A key that SIGHUP changes in a daemon that runs.
ConfigKey Reloads(ConfigKey key) {
  key.reloads = true;
  key.doc += " Read again at SIGHUP.";
  return key;
}

const NumberCodec<size_t> kCount;
const SizeCodec kSize;
const DurationCodec kDuration;

void AddServerKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(List({"server.listen", "listen", "ADDRESS",
                       "Address to serve on, host:port or unix:PATH; port 0 "
                       "picks a free one."},
                      ListenCodec{}, ACTORD_MEMBER(listen)));
  keys.push_back(Single({"server.port_file", "port-file", "PATH",
                         "File that receives the port of each TCP address, one "
                         "a line, once it is served."},
                        TextCodec{}, ACTORD_MEMBER(port_file)));
  keys.push_back(Single(
      {"server.max_concurrent_streams", "max-concurrent-streams", "N",
       "Calls that one connection may have open; more wait in the client."},
      NumberCodec<int>{.min = 1, .max = 1'000'000},
      ACTORD_MEMBER(max_concurrent_streams)));
  const ChoiceCodec<runtime::LogLevel> level{
      {{"debug", runtime::LogLevel::kDebug},
       {"info", runtime::LogLevel::kInfo},
       {"warning", runtime::LogLevel::kWarning},
       {"error", runtime::LogLevel::kError}}};
  keys.push_back(Reloads(
      Single({"log.level", "log-level", "LEVEL",
              "Least level that is logged: debug, info, warning or error."},
             level, ACTORD_MEMBER(log_level))));
  const ChoiceCodec<LogFormat> format{
      {{"console", LogFormat::kConsole}, {"json", LogFormat::kJson}}};
  keys.push_back(Single({"log.format", "log-format", "FORMAT",
                         "Form of a log line on standard error: console or "
                         "json."},
                        format, ACTORD_MEMBER(log_format)));
}

void AddPluginKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(List({"plugins.files", "plugin", "PATH", "Plugin to load."},
                      NonEmptyTextCodec{}, ACTORD_MEMBER(plugins)));
  keys.push_back(List({"plugins.directories", "plugin-dir", "DIR",
                       "Directory whose *.so are loaded, sorted by name; "
                       "LoadPlugin loads from it, too."},
                      NonEmptyTextCodec{}, ACTORD_MEMBER(plugin_dirs)));
  keys.push_back(List(
      {"commands.external", "external", "PATTERN",
       "Command that programs outside carry out: a name, or a prefix and *."},
      NonEmptyTextCodec{}, ACTORD_MEMBER(runtime.external_commands)));
  keys.push_back(
      List({"commands.policies", "command-policy", "POLICY",
            "How external commands are handed to remote workers: a name, or a "
            "prefix "
            "and *, then name=value for max_attempts, lease, attempt_timeout, "
            "start_timeout, backoff and max_backoff; the first that matches "
            "counts."},
           PolicyCodec{}, ACTORD_MEMBER(runtime.work_policies)));
  keys.push_back(List({"commands.file_read_directories", "file-read-dir", "DIR",
                       "Directory below which the command file.read may read."},
                      NonEmptyTextCodec{}, ACTORD_MEMBER(file_read_dirs)));
}

void AddBootKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"boot.tree", "boot-tree", "PATH",
              "File in JSON, the input of a supervisor that the daemon starts "
              "before it serves, under the name boot."},
             TextCodec{}, ACTORD_MEMBER(boot_tree)));
  keys.push_back(
      Single({"boot.timeout", "boot-timeout", "DURATION",
              "How long that tree may take to start, or the daemon does not."},
             kDuration, ACTORD_MEMBER(boot_timeout)));
}

void AddSchedulerKeys(std::vector<ConfigKey>& keys) {
  const NumberCodec<int> number;
  keys.push_back(Single({"scheduler.workers", "workers", "N",
                         "Workers of the scheduler, at most 256; 0 means one "
                         "for each CPU that the daemon may use."},
                        number, ACTORD_MEMBER(runtime.workers)));
  keys.push_back(Single(
      {"scheduler.max_blocked_threads", "max-blocked-threads", "N",
       "Threads beside the workers' own for steps that block, at most 10000."},
      number, ACTORD_MEMBER(runtime.max_blocked_threads)));
  keys.push_back(Single({"scheduler.blocking_threads", "blocking-threads", "N",
                         "Threads for commands that block, at most 1024."},
                        number, ACTORD_MEMBER(runtime.blocking_threads)));
  keys.push_back(Single({"scheduler.blocking_queue", "blocking-queue", "N",
                         "Commands that may wait for such a thread."},
                        kCount, ACTORD_MEMBER(runtime.blocking_queue)));
  keys.push_back(Single(
      {"scheduler.cpu_latency", "cpu-latency", "DURATION",
       "How long an idle processor may take to go on when there is work, at "
       "most 1s; with 0s they poll instead of sleeping. none leaves it to the "
       "machine."},
      kDuration, ACTORD_MEMBER(runtime.cpu_latency)));
}

void AddLimitKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Reloads(Single({"limits.max_processes", "max-processes", "N",
                      "Processes that may live at a time, at most 268435456."},
                     kCount, ACTORD_MEMBER(runtime.max_processes))));
  keys.push_back(
      Reloads(Single({"limits.max_payload_bytes", "max-payload-bytes", "SIZE",
                      "Largest input, message or result, at most 64MiB."},
                     kSize, ACTORD_MEMBER(runtime.max_payload_bytes))));
  keys.push_back(Reloads(
      Single({"limits.max_mailbox_messages", "max-mailbox-messages", "N",
              "Messages that may wait in one mailbox, at most "
              "900000."},
             kCount, ACTORD_MEMBER(runtime.max_mailbox_messages))));
  keys.push_back(
      Reloads(Single({"limits.max_mailbox_bytes", "max-mailbox-bytes", "SIZE",
                      "Memory that one mailbox may hold, at most 1GiB."},
                     kSize, ACTORD_MEMBER(runtime.max_mailbox_bytes))));
  keys.push_back(Reloads(
      Single({"limits.max_yields", "max-yields", "N",
              "Yields of one process that may be outstanding, at most 16000."},
             kCount, ACTORD_MEMBER(runtime.max_yields))));
  keys.push_back(List(
      {"limits.max_processes_per_type", "max-processes-per-type", "\"TYPE N\"",
       "Processes of a type that may live at a time: its name, a space "
       "and a number."},
      TypeLimitCodec{}, ACTORD_MEMBER(runtime.type_limits)));
  keys.push_back(Reloads(
      Single({"limits.max_steps", "max-steps", "N",
              "Steps after which a process that is not done has "
              "failed; 0 means any number."},
             NumberCodec<uint64_t>{}, ACTORD_MEMBER(runtime.max_steps))));
  keys.push_back(Reloads(
      Single({"limits.max_lifetime", "max-lifetime", "DURATION",
              "Time after which a process that is not done has failed, at "
              "least 1ms; none means never."},
             kDuration, ACTORD_MEMBER(runtime.max_lifetime))));
}

void AddDeadLetterKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(Reloads(
      Single({"dead_letters.max_count", "dead-letter-max-count", "N",
              "Messages that reached nobody that are kept, at most 10000000; "
              "the oldest go first, 0 keeps none."},
             kCount, ACTORD_MEMBER(runtime.dead_letter_max_count))));
  keys.push_back(Reloads(
      Single({"dead_letters.max_bytes", "dead-letter-max-bytes", "SIZE",
              "Memory that they may take; the oldest go first, 0 keeps none."},
             kSize, ACTORD_MEMBER(runtime.dead_letter_max_bytes))));
}

void AddRetentionKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Reloads(Single({"yields.default_timeout", "yield-timeout", "DURATION",
                      "Time after which a yield that says nothing about it "
                      "times out; none means never."},
                     kDuration, ACTORD_MEMBER(runtime.default_yield_timeout))));
  keys.push_back(
      Reloads(Single({"yields.external_max_bytes", "yield-external-max-bytes",
                      "SIZE", "Memory of all external yields that wait."},
                     kSize, ACTORD_MEMBER(runtime.max_external_yield_bytes))));
  keys.push_back(Reloads(
      Single({"yields.answer_ttl", "yield-answer-ttl", "DURATION",
              "How long the completion of an external yield is remembered."},
             kDuration, ACTORD_MEMBER(runtime.answered_yield_ttl))));
  keys.push_back(Reloads(Single(
      {"yields.answer_max", "yield-answer-max", "N",
       "Completions remembered, at most 100000000; the oldest go first."},
      kCount, ACTORD_MEMBER(runtime.answered_yield_max))));
  keys.push_back(
      Reloads(Single({"results.ttl", "result-ttl", "DURATION",
                      "How long the result of an ended process is kept."},
                     kDuration, ACTORD_MEMBER(runtime.result_ttl))));
  keys.push_back(
      Reloads(Single({"results.max_bytes", "result-max-bytes", "SIZE",
                      "Bytes of results kept; the oldest go first."},
                     kSize, ACTORD_MEMBER(runtime.result_max_bytes))));
  keys.push_back(
      Single({"requests.id_ttl", "request-id-ttl", "DURATION",
              "How long a request id of Submit, or a message id of Send, is "
              "remembered."},
             kDuration, ACTORD_MEMBER(request_id_ttl)));
  keys.push_back(
      Single({"requests.id_max", "request-id-max", "N",
              "Request ids remembered, and as many message ids; the oldest "
              "go first."},
             kCount, ACTORD_MEMBER(request_id_max)));
}

void AddWatchKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Reloads(Single({"watch.max_watches", "watch-max-watches", "N",
                      "Watches that may be open at a time, at most 1000000."},
                     kCount, ACTORD_MEMBER(runtime.max_watches))));
  keys.push_back(Reloads(
      Single({"watch.max_events", "watch-max-events", "N",
              "Starts and ends of processes kept for watches, at most "
              "10000000; the oldest go first, and who has not read them is "
              "told."},
             kCount, ACTORD_MEMBER(runtime.watch_max_events))));
  keys.push_back(
      Reloads(Single({"watch.max_bytes", "watch-max-bytes", "SIZE",
                      "Memory that they may take; likewise."},
                     kSize, ACTORD_MEMBER(runtime.watch_max_bytes))));
  keys.push_back(Reloads(
      Single({"watch.retention", "watch-retention", "DURATION",
              "How long they are recorded after the last watch, so that it can "
              "be resumed; 0s means not at all, none for ever."},
             kDuration, ACTORD_MEMBER(runtime.watch_retention))));
}

void AddShutdownKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      Single({"shutdown.drain_timeout", "drain-timeout", "DURATION",
              "How long processes may take to end by themselves at SIGTERM or "
              "Shutdown; none means as long as they like."},
             kDuration, ACTORD_MEMBER(drain_timeout)));
  keys.push_back(
      Single({"shutdown.force_timeout", "force-timeout", "DURATION",
              "How long the daemon waits after that for steps and commands "
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
