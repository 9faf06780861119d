// actorctl help: see client/usage/help.h.

#include "client/usage/help.h"

#include <memory>
#include <string>
#include <vector>

#include "client/commands/commands.h"
#include "client/output/output.h"
#include "client/usage/command_json.h"
#include "client/usage/complaint.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Reached only with options, as in "actorctl -o json help submit".
ExitStatus RunHelp(Invocation& invocation, const CLI::App& app,
                   const std::vector<std::string>& words) {
  const CLI::App* const command =
      FindHelped(app, words, invocation.environment());
  if (command == nullptr) return ExitStatus::kUsage;
  WriteOne(invocation.out(), invocation.style(), CommandJson(*command),
           CommandWords(*command), [&] {
             std::vector<std::string> arguments = words;
             arguments.insert(arguments.begin(), "help");
             PrintHelp(app, arguments, invocation.environment());
           });
  return ExitStatus::kDone;
}

}  // namespace

void AddHelp(CLI::App& app, Action& chosen) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Describe a command");
  command->footer(
      "\nPrints the same as \"actorctl COMMAND --help\". -o json and -o yaml "
      "write the\ncommand, its options and its own commands for programs; -o "
      "name writes its name.\n\nExamples:\n"
      "  actorctl help submit\n  actorctl help schedule add\n"
      "  actorctl help -o json | jq '.commands[].command'");
  command->add_option("COMMAND", *words, "The command [all of actorctl]")
      ->type_name("");
  command->callback([&app, &chosen, words] {
    chosen = [&app, words](Invocation& invocation) {
      return RunHelp(invocation, app, *words);
    };
  });
}

}  // namespace actord::client
