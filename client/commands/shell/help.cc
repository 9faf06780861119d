// actorctl help: see client/usage/help.h.

#include <memory>
#include <string>
#include <vector>

#include "client/commands/commands.h"

namespace actord::client {

void AddHelp(CLI::App& app, Action& chosen) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Describe a command");
  command->footer(
      "\nPrints the same as \"actorctl COMMAND --help\".\n\nExamples:\n"
      "  actorctl help submit\n  actorctl help schedule add");
  command->add_option("COMMAND", *words, "The command [all of actorctl]")
      ->type_name("");
  // Reached only with options, as in "actorctl -o json help".
  command->callback([&app, &chosen, words] {
    chosen = [text = app.help("", CLI::AppFormatMode::Normal)](
                 Invocation& invocation) {
      invocation.out() << text;
      return ExitStatus::kDone;
    };
  });
}

}  // namespace actord::client
