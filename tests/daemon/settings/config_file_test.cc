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
                ::testing::StartsWith(c.error))
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
      {"[fruit]\n", "unknown section [fruit]; the sections are server, "},
      {"[log]\nzzzzzzzzzz = 1\n",
       "unknown key log.zzzzzzzzzz; actord --print-config lists the keys"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(std::string(ParseConfigText(c.text, "f").status().message()),
                ::testing::HasSubstr(c.error));
  }
}

TEST(ConfigFile, ShowsTheMistakeInItsLineAndWhatIsRight) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"[log]\nlevel = \"info\n",
       "f:2: the text has no closing quotation mark in its line (column "},
      {"[log]\nlevel = \"info",
       "f:2: the text has no closing quotation mark in its line (column "},
      {"[log]\nlevel = 'info\nformat = 1\n",
       "f:2: the text has no closing quotation mark in its line (column "},
      {"[log]\nlevel = \"info\"\nlevel = \"debug\"\n",
       "f:3: the key stands in its section twice: remove one of the lines "
       "(column "},
      {"[log]\n[server]\n[log]\n",
       "f:3: the section stands in the file twice: put all of its keys below "
       "one header (column "},
      {"[log]\nlevel = debug\n",
       "f:2: the value is neither a number nor true or false, and texts, "
       "durations and sizes need quotation marks, as in \"30s\" (column "},
      {"[shutdown]\ndrain_timeout = 30s\n",
       "f:2: the value is neither a number nor true or false, and texts, "
       "durations and sizes need quotation marks, as in \"30s\" (column "},
      {"[log]\n  level = true\n",
       "f:2: log.level: must be a string or a number, such as \"info\" (column "
       "11 of: level = true)"},
      {"[server]\nlisten = 7600\n",
       "f:2: server.listen: must be an array of strings, such as "
       "[\"127.0.0.1:7600\"] (column 10 of: listen = 7600)"},
      {"[server]\ninsecure_listen = 1 # \x01\n", "f:2: "},
      {"[sever]\n",
       "f:1: unknown section [sever]; did you mean [server]? (column 2 of: "
       "[sever])"},
      {"[scheduler]\nworkers = 99999999999999999999\n", "f:2: "},
  };
  for (const auto& c : cases) {
    const std::string said(ParseConfigText(c.text, "f").status().message());
    EXPECT_THAT(said, ::testing::StartsWith(c.error)) << c.text;
    EXPECT_THAT(said, ::testing::HasSubstr(" (column ")) << c.text;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(ConfigFile, ShowsALongLineInPart) {
  const std::string said(
      ParseConfigText("[log]\nlevel = [\"" + std::string(4000, 'x') + "\"]\n",
                      "f")
          .status()
          .message());
  EXPECT_THAT(said, ::testing::HasSubstr("(column 9 of: level = [\"xxx"));
  EXPECT_LT(said.size(), 300u);
}

TEST(ConfigFile, NamesEveryWrongLineInTheirOrder) {
  EXPECT_THAT(
      ProblemLines(ParseConfigText("[zebra]\n[log]\nformat = true\n"
                                   "zzzz = 1\n[apple]\n",
                                   "f")
                       .status()),
      ElementsAre(::testing::StartsWith("f:1: unknown section [zebra]"),
                  ::testing::StartsWith(
                      "f:3: log.format: must be a string or a number"),
                  ::testing::StartsWith("f:4: unknown key log.zzzz"),
                  ::testing::StartsWith("f:5: unknown section [apple]")));
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
