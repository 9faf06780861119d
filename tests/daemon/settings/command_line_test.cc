#include "daemon/settings/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CommandLine, KnowsItsActions) {
  using Action = CommandLine::Action;
  const struct {
    std::vector<std::string> arguments;
    Action action;
  } cases[] = {{{}, Action::kRun},
               {{"--help"}, Action::kHelp},
               {{"-h"}, Action::kHelp},
               {{"--version"}, Action::kVersion},
               {{"--check-config"}, Action::kCheckConfig},
               {{"--print-config", "--workers", "2"}, Action::kPrintConfig}};
  for (const auto& c : cases) {
    const auto command_line = ParseCommandLine(c.arguments);
    ASSERT_TRUE(command_line.ok()) << command_line.status();
    EXPECT_EQ(command_line->action, c.action);
  }
}

TEST(CommandLine, RefusesWrongUsage) {
  const struct {
    std::vector<std::string> arguments;
    const char* error;
  } cases[] = {
      {{"--nonsense"}, "--nonsense"},
      {{"serve"}, "serve"},
      {{"--workers"}, "--workers"},
      {{"--workers", "two"}, "--workers: \"two\" is not a whole number"},
      {{"--workers", "-1"}, "--workers"},
      {{"--workers", "1", "--workers", "2"},
       "--workers: takes exactly one value"},
      {{"--log-level", "loud"}, "--log-level: \"loud\" is not one of"},
      {{"--listen", "nowhere"}, "--listen: \"nowhere\" is not an address"},
      {{"--plugin", ""}, "--plugin: must not be empty"},
      {{"--restore", ""}, "--restore: name the directory of a backup"},
      {{"--boot-tree-replace", "tree.json"}, "tree.json"},
      {{"--max-concurrent-streams", "0"}, "0 is not between 1 and 1000000"},
      {{"--unix-mode", "888"}, "\"888\" is not a mode in octal digits such as"},
      {{"--unix-mode", "1777"}, "is not a mode in octal digits"},
      {{"--reserved-descriptors", "15"}, "15 is not between 16 and 1000000"},
      {{"--handshake-timeout", "99ms"}, "99ms is not between 100ms and 10m"},
      {{"--max-unread-bytes", "1KiB"}, "1KiB is not between 64KiB and 1GiB"},
      {{"--handshake-timeout", "none"}, "none is not between 100ms and 10m"},
  };
  for (const auto& c : cases) {
    const auto command_line = ParseCommandLine(c.arguments);
    ASSERT_FALSE(command_line.ok()) << c.error;
    EXPECT_THAT(std::string(command_line.status().message()),
                HasSubstr(c.error));
  }
}

TEST(CommandLine, NamesTheOptionThatWasMeant) {
  const struct {
    std::vector<std::string> arguments;
    const char* error;
  } cases[] = {
      {{"--lissten", "127.0.0.1:1"},
       "there is no option --lissten; did you mean --listen?"},
      {{"--lissten=127.0.0.1:1"},
       "there is no option --lissten; did you mean --listen?"},
      {{"--workers", "1", "--zzzzzzzz"}, "there is no option --zzzzzzzz"},
      {{"serve"}, "actord takes only options, and not \"serve\""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ParseCommandLine(c.arguments).status().message(), c.error);
  }
}

TEST(CommandLine, ReplacesTheBootTreeIfItIsTold) {
  const auto keeps = ParseCommandLine({"--boot-tree", "tree.json"});
  const auto replaces =
      ParseCommandLine({"--boot-tree", "tree.json", "--boot-tree-replace"});
  ASSERT_TRUE(keeps.ok() && replaces.ok());
  EXPECT_FALSE(keeps->replace_boot_tree);
  EXPECT_TRUE(replaces->replace_boot_tree);
}

TEST(CommandLine, AcceptsAConfigFileAndEqualsSigns) {
  const auto command_line =
      ParseCommandLine({"--config=/etc/actord.toml", "--workers=2",
                        "--plugin=a", "--plugin", "b"});
  ASSERT_TRUE(command_line.ok()) << command_line.status();
  EXPECT_EQ(command_line->config_file, "/etc/actord.toml");
  ASSERT_EQ(command_line->values.size(), 2u);
  EXPECT_THAT(command_line->values[0].texts, ElementsAre("a", "b"));
  EXPECT_THAT(command_line->values[1].texts, ElementsAre("2"));
}

TEST(CommandLine, HelpFitsATerminal) {
  const std::string help = HelpText();
  size_t begin = 0;
  while (begin < help.size()) {
    const size_t end = help.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace actord::daemon
