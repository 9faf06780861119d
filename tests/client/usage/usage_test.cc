// The errors for a command line that actorctl does not understand, and its
// help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "client/app.h"
#include "client/cli/address.h"
#include "client/usage/complaint.h"
#include "client/usage/synonyms.h"
#include "identity/names/nearest.h"
#include "nlohmann/json.hpp"
#include "tests/client/cli/cli_run.h"

namespace actord::client {
namespace {

using testing::HasSubstr;

TEST(NearestName, IsTheNameThatIsMeant) {
  const std::vector<std::string> known = {"submit", "send",     "status",
                                          "ps",     "describe", "await"};
  struct Case {
    std::string typed, nearest;
  };
  for (const auto& [typed, nearest] :
       std::vector<Case>{{"subit", "submit"},        // missing
                         {"submmit", "submit"},      // too much
                         {"sumbit", "submit"},       // exchanged
                         {"sybmit", "submit"},       // wrong
                         {"Submit", "submit"},       // a capital
                         {"desc", "describe"},       // its beginning
                         {"st", "status"},           // the shortest beginning
                         {"sned", "send"},           //
                         {"kill", ""},               // nothing like it
                         {"s", ""},                  // could be any
                         {"px", ""},                 // half of it is wrong
                         {"", ""},                   //
                         {"submit-everything", ""},  // too much of it
                         {std::string(100'000, 's'), ""}}) {
    EXPECT_EQ(identity::NearestName(typed, known), nearest)
        << typed.substr(0, 20);
  }
}

TEST(Usage, MistakesAreNamedWithWhatMayBeMeant) {
  struct Case {
    std::vector<std::string> words;
    std::string said;
  };
  for (const auto& [words, said] : std::vector<Case>{
           {{"subit", "greeter", "World"},
            "actorctl has no command \"subit\"; did you mean \"submit\"?\n"
            "Run \"actorctl help\".\n"},
           {{"fruit", "1.2.3.4"},
            "actorctl has no command \"fruit\"\nRun \"actorctl help\".\n"},
           {{"stuck", "--for", "3s"},
            "actorctl stuck has no option \"--for\"; use \"--older-than\"\n"
            "Run \"actorctl help stuck\".\n"},
           {{"kill", "1.2.3.4"},
            "actorctl has no command \"kill\"; use \"cancel\"\n"
            "Run \"actorctl help\".\n"},
           {{"run", "greeter", "World"},
            "actorctl has no command \"run\"; use \"submit TYPE --wait\"\n"
            "Run \"actorctl help\".\n"},
           {{"schedule", "rm", "x"},
            "actorctl schedule has no command \"rm\"; use \"remove\"\n"
            "Run \"actorctl help schedule\".\n"},
           {{"dead-letters", "rm", "x"},
            "actorctl dead-letters has no command \"rm\"; use \"drop\"\n"
            "Run \"actorctl help dead-letters\".\n"},
           {{"schedule", "ad", "x"},
            "actorctl schedule has no command \"ad\"; did you mean \"add\"?\n"
            "Run \"actorctl help schedule\".\n"},
           {{"ps", "--typ", "x"},
            "actorctl ps has no option \"--typ\"; did you mean \"--type\"?\n"
            "Run \"actorctl help ps\".\n"},
           {{"ps", "--adress=x", "y"},
            "actorctl ps has no option \"--adress\"; did you mean "
            "\"--address\"?\nRun \"actorctl help ps\".\n"},
           {{"send", "--tpoic", "add"},
            "actorctl send has no option \"--tpoic\"; did you mean "
            "\"--topic\"?\nRun \"actorctl help send\".\n"},
           {{"ps", "one", "two"},
            "actorctl ps does not expect \"one two\"\n"
            "Run \"actorctl help ps\".\n"},
           {{"describe"}, "PID is required\nRun \"actorctl help describe\".\n"},
           {{"schedule"},
            "A subcommand is required\nRun \"actorctl help schedule\".\n"}}) {
    const CliResult result = RunCli(words);
    EXPECT_EQ(result.status, ExitStatus::kUsage);
    EXPECT_EQ(result.err, "actorctl: " + said);
    EXPECT_EQ(result.out, "");
  }
}

TEST(OptionSynonyms, LeadToTheOptionOfTheCommand) {
  const std::vector<std::string> known = {"--tail", "--follow", "--output"};
  for (const auto& [typed, option] : std::map<std::string, std::string>{
           {"--limit", "; use \"--tail\""},
           {"--limt", "; did you mean \"--tail\"?"},
           {"-n", "; use \"--tail\""},
           {"-f", "; use \"--follow\""},
           {"--json", "; use \"--output json\""},
           {"--nothing", ""}}) {
    EXPECT_EQ(OptionHint(typed, known), option) << typed;
  }
}

TEST(Synonyms, LeadToCommandsAndAreNone) {
  VisitCommands([](const CLI::App& app) {
    for (const auto& [typed, command] : Synonyms()) {
      const std::string word(typed);
      EXPECT_EQ(FindCommand(app, word), nullptr) << word;
      EXPECT_EQ(CommandFor(app, word), std::string(command)) << word;
    }
    for (const char* word :
         {"list", "kill", "start", "publish", "get", "rm", "tail", "log"}) {
      EXPECT_NE(CommandFor(app, word), "") << word;
    }
    for (const auto& [typed, command] : SynonymsBelow()) {
      bool is_used = false;
      for (const CLI::App* below : app.get_subcommands(nullptr)) {
        is_used |= CommandFor(*below, std::string(typed)) == command;
      }
      EXPECT_TRUE(is_used) << typed << " " << command;
    }
  });
}

TEST(Usage, HelpOfACommandIsThatOfItsOption) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"submit"}, {"schedule", "add"}}) {
    std::vector<std::string> asked = words;
    asked.insert(asked.begin(), "help");
    std::vector<std::string> option = words;
    option.push_back("--help");
    const CliResult result = RunCli(asked);
    EXPECT_EQ(result.status, ExitStatus::kDone);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out, RunCli(option).out);
  }
  const CliResult wrong = RunCli({"help", "schedule", "lst"});
  EXPECT_EQ(wrong.status, ExitStatus::kUsage);
  EXPECT_EQ(wrong.err,
            "actorctl: actorctl schedule has no command \"lst\"; did you mean "
            "\"list\"?\n");
  // A token at the wrong place is not repeated.
  EXPECT_EQ(RunCli({"help", "atk_k3v9x0ab_" + std::string(52, 'x')}).err,
            "actorctl: actorctl has no command \"atk_[redacted]\"\n");
  // Without a daemon, and with any address of it in the environment.
  EXPECT_EQ(
      RunCli({"help"}, {.variables = {{"ACTORD_CONTEXT", "none"}}}).status,
      ExitStatus::kDone);
}

TEST(Usage, HelpForProgramsIsATreeOfCommands) {
  const auto whole = nlohmann::json::parse(RunCli({"help", "-o", "json"}).out);
  EXPECT_EQ(whole["command"], "actorctl");
  EXPECT_TRUE(whole["arguments"].empty());
  std::vector<std::string> commands;
  for (const auto& command : whole["commands"]) {
    commands.push_back(command["command"]);
  }
  EXPECT_THAT(commands,
              testing::IsSupersetOf({"actorctl submit", "actorctl schedule"}));

  const CliResult result = RunCli({"-o", "json", "help", "schedule", "add"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  const auto add = nlohmann::json::parse(result.out);
  EXPECT_EQ(add["command"], "actorctl schedule add");
  EXPECT_TRUE(add["commands"].empty());
  EXPECT_EQ(add["arguments"][0]["name"], "NAME");

  const auto call =
      nlohmann::json::parse(RunCli({"help", "submit", "-o", "json"}).out);
  std::map<std::string, nlohmann::json> options;
  for (const auto& option : call["options"]) {
    options[option["names"].back()] = option;
  }
  EXPECT_EQ(options["--in-flight"]["default"], "256");
  EXPECT_EQ(options["--in-flight"]["value"], "N");
  EXPECT_EQ(options["--wait"]["value"], "");

  EXPECT_EQ(RunCli({"help", "submit", "--timeout", "1s"}).out,
            RunCli({"help", "submit"}).out);
  EXPECT_EQ(RunCli({"help", "submt", "-o", "json"}).status, ExitStatus::kUsage);
}

TEST(WithDefaultPort, IsThePortOfAHostAlone) {
  EXPECT_EQ(WithDefaultPort("localhost"), "localhost:7600");
  EXPECT_EQ(WithDefaultPort("10.0.0.1"), "10.0.0.1:7600");
  EXPECT_EQ(WithDefaultPort("[::1]"), "[::1]:7600");
  for (const char* other : {"localhost:1", "[::1]:1", "unix:/a", "::1", "",
                            "http://a", "a b", "[a]", "a:"}) {
    EXPECT_EQ(WithDefaultPort(other), other);
  }
  const CliResult status =
      RunCli({"--address", "127.77.77.77", "--timeout", "5s", "status"});
  EXPECT_THAT(status.err, HasSubstr("127.77.77.77:7600"));
}

}  // namespace
}  // namespace actord::client
