#include "daemon/settings/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/settings/config.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;

TEST(ConfigFile, RefusesUnknownKeysWithTheirLine) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"[log]\nlevel = \"info\"\ncolour = true\n",
       "f.toml:3: unknown key log.colour"},
      {"\n[logs]\n", "f.toml:2: unknown section [logs]"},
      {"listen = [\"a:1\"]\n", "f.toml:1: unknown key listen"},
      {"[server.tls]\ncert = \"x\"\n", "f.toml:1: unknown key server.tls"},
      {"[log\n", "f.toml:1: "},
      {"[log]\nlevel = \"info\"\nlevel = \"info\"\n", "f.toml:3: "},
      {"[log]\nlevel = true\n",
       "f.toml:2: log.level: must be a string or a number"},
      {"[server]\ninsecure_listen = \"true\"\n",
       "f.toml:2: server.insecure_listen: must be true or false"},
      {"[log]\nlevel = 1979-05-27\n",
       "f.toml:2: log.level: must be a string or a number"},
      {"[log]\nlevel = [\"info\"]\n",
       "f.toml:2: log.level: must be a string or a number"},
      {"[server]\nlisten = \"a:1\"\n",
       "f.toml:2: server.listen: must be an array of strings"},
      {"[server]\nlisten = [1]\n",
       "f.toml:2: server.listen: must be an array of strings"},
  };
  for (const auto& c : cases) {
    const auto values = ParseConfigText(c.text, "f.toml");
    ASSERT_FALSE(values.ok()) << c.text;
    EXPECT_THAT(std::string(values.status().message()),
                testing::StartsWith(c.error))
        << c.text;
  }
}

TEST(ConfigFile, NamesTheKeyThatWasMeant) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"[log]\nlevle = 1\n", "unknown key log.levle; did you mean log.level?"},
      {"[server]\nlevel = 1\n", "server.level; did you mean log.level?"},
      {"workers = 2\n", "unknown key workers; did you mean scheduler.workers?"},
      {"[sever]\n", "unknown section [sever]; did you mean [server]?"},
      {"[fruit]\n", "unknown section [fruit]"},
      {"[log]\nzzzzzzzzzz = 1\n", "unknown key log.zzzzzzzzzz"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(std::string(ParseConfigText(c.text, "f").status().message()),
                testing::EndsWith(c.error));
  }
}

TEST(ConfigFile, NamesEveryWrongLineInTheirOrder) {
  EXPECT_THAT(
      ProblemLines(ParseConfigText("[zebra]\n[log]\nformat = true\n"
                                   "zzzz = 1\n[apple]\n",
                                   "f")
                       .status()),
      ElementsAre("f:1: unknown section [zebra]",
                  "f:3: log.format: must be a string or a number",
                  "f:4: unknown key log.zzzz", "f:5: unknown section [apple]"));
}

// toml++ would overflow the stack.
TEST(ConfigFile, RefusesDeepNestingWithItsLine) {
  std::string parts = "log";
  for (int i = 0; i < 100'000; ++i) parts += ".a";
  for (const std::string& line : {"[" + parts + "]", parts + " = 1"}) {
    EXPECT_EQ(ParseConfigText("[log]\nlevel = \"info\"\n" + line, "f.toml")
                  .status()
                  .message(),
              "f.toml:3: a key has more than 16 parts with dots between them");
  }
}

TEST(ConfigFile, KeepsTheOrderOfTheLines) {
  const auto values = ParseConfigText(
      "[server]\nport_file = \"p\"\nlisten = []\n[log]\nlevel = \"info\"\n",
      "f.toml");
  ASSERT_TRUE(values.ok()) << values.status();
  std::vector<std::string> paths;
  for (const ConfigValue& value : *values) paths.emplace_back(value.key->path);
  EXPECT_THAT(paths,
              ElementsAre("server.port_file", "server.listen", "log.level"));
}

}  // namespace
}  // namespace actord::daemon
