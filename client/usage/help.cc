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

ExitStatus PrintHelp(const CLI::App& app,
                     const std::vector<std::string>& arguments,
                     const Environment& environment) {
  const CLI::App* command = &app;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const CLI::App* const next = FindCommand(*command, arguments[i]);
    if (next == nullptr) {
      environment.err << "actorctl: "
                      << identity::RedactTokens(
                             OneLine(NoSuchCommand(*command, arguments[i])))
                      << "\n";
      return ExitStatus::kUsage;
    }
    command = next;
  }
  const CLI::App* const parent = command->get_parent();
  environment.out << command->help(parent == nullptr ? ""
                                                     : CommandWords(*parent));
  environment.out.flush();
  return ExitStatus::kDone;
}

}  // namespace actord::client
