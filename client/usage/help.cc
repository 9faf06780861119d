#include "client/usage/help.h"

#include <algorithm>

#include "client/output/text.h"
#include "client/usage/complaint.h"
#include "identity/token_text.h"

namespace actord::client {

bool AsksForHelp(const std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments.front() == "help" &&
         std::none_of(
             arguments.begin(), arguments.end(),
             [](const std::string& word) { return word.starts_with('-'); });
}

const CLI::App* FindHelped(const CLI::App& app,
                           const std::vector<std::string>& words,
                           const Environment& environment) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* const next = FindCommand(*command, word);
    if (next == nullptr) {
      environment.err << "actorctl: "
                      << identity::RedactTokens(
                             OneLine(NoSuchCommand(*command, word)))
                      << "\n";
      return nullptr;
    }
    command = next;
  }
  return command;
}

ExitStatus PrintHelp(const CLI::App& app,
                     const std::vector<std::string>& arguments,
                     const Environment& environment) {
  const CLI::App* const command =
      FindHelped(app, {arguments.begin() + 1, arguments.end()}, environment);
  if (command == nullptr) return ExitStatus::kUsage;
  const CLI::App* const parent = command->get_parent();
  environment.out << command->help(parent == nullptr ? ""
                                                     : CommandWords(*parent));
  environment.out.flush();
  return ExitStatus::kDone;
}

}  // namespace actord::client
