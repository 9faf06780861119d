#include "daemon/settings/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/settings/command_line.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
// For each key a value other than the default, as text and as TOML.
struct Sample {
  std::vector<std::string> texts;
  std::string toml;
};

const std::string kDigest(64, 'a');
const std::map<std::string, Sample>& Samples() {
  static const auto* const samples = new std::map<std::string, Sample>{
      {"server.listen", {{"[::1]:0", "unix:/a"}, R"(["[::1]:0", "unix:/a"])"}},
      {"server.port_file", {{"/run/actord/port"}, "\"/run/actord/port\""}},
      {"server.max_concurrent_streams", {{"77"}, "77"}},
      {"server.max_connection_age", {{"1h"}, "\"1h\""}},
      {"server.insecure_listen", {{"true"}, "true"}},
      {"admin.listen", {{"[::1]:1", "unix:/a"}, "[\"[::1]:1\", \"unix:/a\"]"}},
      {"admin.port_file", {{"/run/actord/admin"}, "\"/run/actord/admin\""}},
      {"admin.insecure_listen", {{"true"}, "true"}},
      {"admin.hosts", {{"actord.example"}, "[\"actord.example\"]"}},
      {"admin.api", {{"true"}, "true"}},
      {"traces.propagate", {{"false"}, "false"}},
      {"traces.endpoint", {{"http://a:4318"}, "\"http://a:4318\""}},
      {"traces.sample", {{"0.125"}, "\"0.125\""}},
      {"traces.queue", {{"9000"}, "9000"}},
      {"admin.link_key", {{"/tmp/k"}, "\"/tmp/k\""}},
      {"admin.link_url", {{"https://a:1/b"}, "\"https://a:1/b\""}},
      {"tls.certificate", {{"/etc/a.pem"}, "\"/etc/a.pem\""}},
      {"tls.key", {{"/etc/a.key"}, "\"/etc/a.key\""}},
      {"tls.client_ca", {{"/etc/ca.pem"}, "\"/etc/ca.pem\""}},
      {"tls.crl", {{"/etc/crl.pem"}, "\"/etc/crl.pem\""}},
      {"tls.reload_interval", {{"5s"}, "\"5s\""}},
      {"server.unix_mode", {{"0660"}, "\"0660\""}},
      {"server.unix_group", {{"actord"}, "\"actord\""}},
      {"connections.max", {{"500"}, "500"}},
      {"connections.max_per_address", {{"50"}, "50"}},
      {"connections.reserved_descriptors", {{"32"}, "32"}},
      {"connections.handshake_timeout", {{"3s"}, "\"3s\""}},
      {"connections.max_unread_bytes", {{"1MiB"}, "\"1MiB\""}},
      {"auth.tokens", {{"/etc/tokens.toml"}, "\"/etc/tokens.toml\""}},
      {"auth.mode", {{"off"}, "\"off\""}},
      {"quotas.requests_per_second", {{"100"}, "100"}},
      {"quotas.request_burst", {{"200"}, "200"}},
      {"quotas.bytes_per_second", {{"10MiB"}, "\"10MiB\""}},
      {"quotas.bytes_burst", {{"20MiB"}, "\"20MiB\""}},
      {"quotas.streams", {{"10"}, "10"}},
      {"quotas.connections", {{"30"}, "30"}},
      {"quotas.processes", {{"5000"}, "5000"}},
      {"quotas.mailbox_bytes", {{"30MiB"}, "\"30MiB\""}},
      {"quotas.yield_bytes", {{"40MiB"}, "\"40MiB\""}},
      {"log.level", {{"warning"}, "\"warning\""}},
      {"log.format", {{"json"}, "\"json\""}},
      {"plugins.files", {{"a.so", "b \"x\""}, R"(["a.so", "b \"x\""])"}},
      {"plugins.directories", {{"/opt/plugins"}, "[\"/opt/plugins\"]"}},
      {"plugins.cache", {{"/var/cache/actord"}, "\"/var/cache/actord\""}},
      {"plugins.sha256", {{kDigest}, "[\"" + kDigest + "\"]"}},
      {"commands.external", {{"payment.*", "ask"}, "[\"payment.*\", \"ask\"]"}},
      {"commands.policies",
       {{"payment.* max_attempts=3 lease=1m attempt_timeout=none "
         "start_timeout=10s backoff=500ms max_backoff=5s"},
        "[\"payment.* max_attempts=3 lease=1m attempt_timeout=none "
        "start_timeout=10s backoff=500ms max_backoff=5s\"]"}},
      {"commands.file_read_directories", {{"/srv"}, "[\"/srv\"]"}},
      {"boot.tree", {{"/etc/actord/tree.json"}, "\"/etc/actord/tree.json\""}},
      {"boot.timeout", {{"5s"}, "\"5s\""}},
      {"store.directory", {{"/var/lib/actord"}, "\"/var/lib/actord\""}},
      {"store.segment_bytes", {{"8MiB"}, "\"8MiB\""}},
      {"store.max_record_bytes", {{"1MiB"}, "\"1MiB\""}},
      {"store.max_unsynced_bytes", {{"4MiB"}, "\"4MiB\""}},
      {"store.disk_reserve", {{"9MiB"}, "\"9MiB\""}},
      {"store.checkpoint_bytes", {{"32MiB"}, "\"32MiB\""}},
      {"store.checkpoint_interval", {{"15s"}, "\"15s\""}},
      {"store.result_ttl", {{"48h"}, "\"48h\""}},
      {"store.max_history", {{"3MiB"}, "\"3MiB\""}},
      {"store.max_history_steps", {{"700"}, "700"}},
      {"store.max_processes", {{"900"}, "900"}},
      {"store.passivate_after", {{"5m"}, "\"5m\""}},
      {"store.max_crashes", {{"5"}, "5"}},
      {"store.keep_plugins", {{"7"}, "7"}},
      {"store.request_id_ttl", {{"12h"}, "\"12h\""}},
      {"store.request_id_max", {{"20"}, "20"}},
      {"store.history_retention", {{"48h"}, "\"48h\""}},
      {"scheduler.workers", {{"3"}, "3"}},
      {"scheduler.max_blocked_threads", {{"0"}, "0"}},
      {"scheduler.blocking_threads", {{"5"}, "5"}},
      {"scheduler.blocking_queue", {{"99"}, "99"}},
      {"scheduler.cpu_latency", {{"10us"}, "\"10us\""}},
      {"limits.max_processes", {{"1000"}, "1000"}},
      {"limits.max_payload_bytes", {{"2MiB"}, "\"2MiB\""}},
      {"limits.max_mailbox_messages", {{"12"}, "12"}},
      {"limits.max_mailbox_bytes", {{"64MiB"}, "\"64MiB\""}},
      {"limits.max_yields", {{"7"}, "7"}},
      {"limits.max_processes_per_type",
       {{"order 10", "echo 3"}, "[\"order 10\", \"echo 3\"]"}},
      {"limits.max_steps", {{"5000"}, "5000"}},
      {"limits.max_lifetime", {{"36h"}, "\"36h\""}},
      {"dead_letters.max_count", {{"0"}, "0"}},
      {"failures.max_count", {{"5"}, "5"}},
      {"failures.max_bytes", {{"3MiB"}, "\"3MiB\""}},
      {"dead_letters.max_bytes", {{"1GiB"}, "\"1GiB\""}},
      {"yields.default_timeout", {{"45s"}, "\"45s\""}},
      {"yields.external_max_bytes", {{"64MiB"}, "\"64MiB\""}},
      {"yields.answer_ttl", {{"1m30s"}, "\"1m30s\""}},
      {"yields.answer_max", {{"500"}, "500"}},
      {"results.ttl", {{"250ms"}, "\"250ms\""}},
      {"results.max_bytes", {{"32MiB"}, "\"32MiB\""}},
      {"requests.id_ttl", {{"2h"}, "\"2h\""}},
      {"requests.id_max", {{"10"}, "10"}},
      {"watch.max_watches", {{"20"}, "20"}},
      {"watch.max_events", {{"1000"}, "1000"}},
      {"watch.max_bytes", {{"1MiB"}, "\"1MiB\""}},
      {"watch.retention", {{"30s"}, "\"30s\""}},
      {"shutdown.drain_timeout", {{"none"}, "\"none\""}},
      {"shutdown.force_timeout", {{"1s"}, "\"1s\""}},
  };
  return *samples;
}

Environment FakeEnvironment(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(::testing::TempDir() + "actord_config_XXXXXX") {
    const int file = mkstemp(path_.data());
    EXPECT_GE(file, 0) << path_;
    close(file);
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string FileText(const ConfigKey& key, const std::string& toml) {
  const size_t dot = key.path.find('.');
  return absl::StrCat("[", std::string(key.path.substr(0, dot)), "]\n",
                      std::string(key.path.substr(dot + 1)), " = ", toml, "\n");
}

std::string Joined(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ",");
}

std::vector<std::string> Arguments(const ConfigKey& key,
                                   const std::vector<std::string>& texts) {
  std::vector<std::string> arguments;
  for (const std::string& text : texts) {
    std::string option = absl::StrCat("--", std::string(key.option));
    if (key.is_flag) {
      arguments.push_back(absl::StrCat(option, "=", text));
    } else {
      arguments.insert(arguments.end(), {std::move(option), text});
    }
  }
  return arguments;
}

std::vector<ConfigValue> CommandLineValues(
    const std::vector<std::string>& arguments) {
  auto command_line = ParseCommandLine(arguments);
  EXPECT_TRUE(command_line.ok()) << command_line.status();
  return command_line.ok() ? command_line->values : std::vector<ConfigValue>{};
}

TEST(ConfigKeys, HaveUniqueNamesAndASample) {
  std::set<std::string> names;
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_TRUE(names.insert(std::string(key.path)).second) << key.path;
    EXPECT_TRUE(names.insert(std::string(key.option)).second) << key.option;
    EXPECT_TRUE(key.doc.ends_with('.')) << key.path;
    EXPECT_EQ(Samples().count(std::string(key.path)), 1u) << key.path;
  }
  EXPECT_EQ(Samples().size(), ConfigKeys().size());
}

TEST(ConfigKeys, AvoidVariablesThatOrchestratorsSet) {
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string name = EnvironmentName(key);
    EXPECT_NE(name, "ACTORD_PORT");
    EXPECT_NE(name, "ACTORD_ADDRESS") << "belongs to actorctl";
    EXPECT_THAT(name, Not(::testing::StartsWith("ACTORD_SERVICE_")));
  }
}

// Tests each key alone: from each source, and printed.
class ConfigKeyTest : public ::testing::TestWithParam<const ConfigKey*> {
 protected:
  const ConfigKey& key() const { return *GetParam(); }
  const Sample& sample() const { return Samples().at(std::string(key().path)); }
};

TEST_P(ConfigKeyTest, SampleDiffersFromTheDefault) {
  EXPECT_NE(key().print(Config{}), sample().toml);
}

TEST_P(ConfigKeyTest, ComesFromTheFile) {
  const TemporaryFile file(FileText(key(), sample().toml));
  const auto config = LoadConfig(file.path(), {}, FakeEnvironment({}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(key().print(*config), sample().toml);
}

TEST_P(ConfigKeyTest, EnvironmentOverridesTheFile) {
  const TemporaryFile file(FileText(key(), key().print(Config{})));
  const auto config = LoadConfig(
      file.path(), {},
      FakeEnvironment({{EnvironmentName(key()), Joined(sample().texts)}}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(key().print(*config), sample().toml);
}

TEST_P(ConfigKeyTest, OptionOverridesFileAndEnvironment) {
  if (key().is_list && key().print(Config{}) == "[]") {
    // The environment cannot express the default, an empty list. So the option
    // is the only source here.
    const auto config =
        LoadConfig("", CommandLineValues(Arguments(key(), sample().texts)),
                   FakeEnvironment({}));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(key().print(*config), sample().toml);
    return;
  }
  const TemporaryFile file(FileText(key(), key().print(Config{})));
  std::string other = key().print(Config{});
  other.erase(
      std::remove_if(other.begin(), other.end(),
                     [](char c) { return c == '"' || c == '[' || c == ']'; }),
      other.end());
  const auto config = LoadConfig(
      file.path(), CommandLineValues(Arguments(key(), sample().texts)),
      FakeEnvironment({{EnvironmentName(key()), other}}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(key().print(*config), sample().toml);
}

TEST_P(ConfigKeyTest, IsInHelpAndInPrintedConfig) {
  EXPECT_THAT(HelpText(),
              HasSubstr(absl::StrCat("  --", std::string(key().option), " ",
                                     std::string(key().value))));
  EXPECT_THAT(HelpText(), HasSubstr(EnvironmentName(key())));
  EXPECT_THAT(
      PrintConfig(Config{}),
      HasSubstr(absl::StrCat(
          "\n", std::string(key().path.substr(key().path.find('.') + 1)), " = ",
          key().print(Config{}), "\n")));
}

std::vector<const ConfigKey*> AllKeys() {
  std::vector<const ConfigKey*> keys;
  for (const ConfigKey& key : ConfigKeys()) keys.push_back(&key);
  return keys;
}

INSTANTIATE_TEST_SUITE_P(
    AllKeys, ConfigKeyTest, ::testing::ValuesIn(AllKeys()),
    [](const ::testing::TestParamInfo<const ConfigKey*>& param) {
      std::string name(param.param->path);
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(Config, PrintedConfigReadsBackToTheSame) {
  std::string text;
  for (const ConfigKey& key : ConfigKeys()) {
    // Dotted keys, because a section header for each key would repeat sections.
    absl::StrAppend(&text, std::string(key.path), " = ",
                    Samples().at(std::string(key.path)).toml, "\n");
  }
  const TemporaryFile file(text);
  const auto config = LoadConfig(file.path(), {}, FakeEnvironment({}));
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string printed = PrintConfig(*config);
  std::ofstream(file.path()) << printed;
  const auto again = LoadConfig(file.path(), {}, FakeEnvironment({}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), printed);
  EXPECT_NE(printed, PrintConfig(Config{}));
}

TEST(Config, OptionForTheFileOverridesTheEnvironment) {
  const TemporaryFile file("[log]\nlevel = \"error\"\n");
  const auto named =
      LoadConfig("", {}, FakeEnvironment({{"ACTORD_CONFIG", file.path()}}));
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->log_level, runtime::LogLevel::kError);
  const auto other = LoadConfig(
      file.path(), {}, FakeEnvironment({{"ACTORD_CONFIG", "/nowhere"}}));
  EXPECT_TRUE(other.ok()) << other.status();
}

TEST(Config, RefusesAFileThatCannotBeRead) {
  for (const std::string path : {"/nowhere/actord.toml", "/"}) {
    const auto config = LoadConfig(path, {}, FakeEnvironment({}));
    ASSERT_FALSE(config.ok()) << path;
    EXPECT_THAT(std::string(config.status().message()),
                HasSubstr("cannot be read"));
  }
}

TEST(Config, AcceptsAnEmptyFile) {
  const TemporaryFile file("");
  EXPECT_TRUE(LoadConfig(file.path(), {}, FakeEnvironment({})).ok());
}

TEST(Config, NamesTheSourceOfAWrongValue) {
  const TemporaryFile file("# first\n[log]\nlevel = \"loud\"\n");
  const auto from_file = LoadConfig(file.path(), {}, FakeEnvironment({}));
  ASSERT_FALSE(from_file.ok());
  EXPECT_EQ(std::string(from_file.status().message()),
            absl::StrCat(file.path(),
                         ":3: log.level: \"loud\" is not one of debug, info, "
                         "warning, error (column 9 of: level = \"loud\")"));

  const auto from_environment = LoadConfig(
      "", {}, FakeEnvironment({{"ACTORD_MAX_PAYLOAD_BYTES", "plenty"}}));
  ASSERT_FALSE(from_environment.ok());
  EXPECT_THAT(std::string(from_environment.status().message()),
              HasSubstr("ACTORD_MAX_PAYLOAD_BYTES: \"plenty\" is not a size"));
}

TEST(Config, NamesAValueOutOfTheLimitsOfTheRuntime) {
  const auto config =
      LoadConfig("", {},
                 FakeEnvironment({{"ACTORD_WORKERS", "2"},
                                  {"ACTORD_BLOCKING_THREADS", "1025"}}));
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(std::string(config.status().message()),
              ::testing::StartsWith("ACTORD_BLOCKING_THREADS: "));
}

TEST(Config, ChecksRelatedLimitsAfterAllSources) {
  // Too large for the default mailbox, and small enough for the configured one.
  const Environment environment =
      FakeEnvironment({{"ACTORD_MAX_PAYLOAD_BYTES", "32MiB"}});
  const auto values = CommandLineValues({"--max-mailbox-bytes", "64MiB"});
  EXPECT_TRUE(LoadConfig("", values, environment).ok());
  EXPECT_FALSE(LoadConfig("", {}, environment).ok());

  const auto together = LoadConfig(
      "", CommandLineValues({"--max-mailbox-bytes", "17MiB"}), environment);
  ASSERT_FALSE(together.ok());
  EXPECT_THAT(together.status().ToString(),
              HasSubstr(": configuration: max_mailbox_bytes"));

  const auto other = LoadConfig(
      "",
      CommandLineValues({"--max-mailbox-bytes", "64MiB", "--workers", "257"}),
      environment);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.status().ToString(), HasSubstr("T: --workers: "));
}

TEST(Config, RequiresAnAddress) {
  const auto none = FakeEnvironment({{"ACTORD_LISTEN", ""}});
  const auto config = LoadConfig("", {}, none);
  EXPECT_THAT(config.status().ToString(), HasSubstr("ACTORD_LISTEN: at"));
}

TEST(Config, IgnoresOtherVariables) {
  const auto config =
      LoadConfig("", {}, FakeEnvironment({{"ACTORD_PORT", "tcp://a:7600"}}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(PrintConfig(*config), PrintConfig(Config{}));
}

}  // namespace
}  // namespace actord::daemon
