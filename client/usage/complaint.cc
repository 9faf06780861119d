#include "client/usage/complaint.h"

#include <string_view>
#include <vector>

#include "client/output/text.h"
#include "client/usage/synonyms.h"
#include "identity/names/nearest.h"

namespace actord::client {
namespace {

std::string Quoted(const std::string& word) {
  return "\"" + word.substr(0, kMaxRepeated) + "\"";
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
  }
  return names;
}

// The options of the command and of its parents: "--type", "-o".
std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr;
       app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const auto& name : option->get_lnames())
        names.push_back("--" + name);
    }
  }
  return names;
}

// A value behind = does not belong to the name.
std::string OptionOf(const std::string& word) {
  return word.substr(0, word.find('='));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word.substr(0, kMaxRepeated);
  }
  return text;
}

}  // namespace

const CLI::App& DeepestParsed(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : DeepestParsed(*parsed.front());
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::string CommandWords(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent == nullptr ? "" : CommandWords(*parent) + " ") +
         command.get_name();
}

std::string HelpFor(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() + " help"
                           : HelpFor(*parent) + " " + command.get_name();
}

std::string NoSuchCommand(const CLI::App& command, const std::string& word) {
  const std::string same = CommandFor(command, word);
  return CommandWords(command) + " has no command " + Quoted(word) +
         (same.empty() ? identity::DidYouMean(word, CommandNames(command))
                       : "; use \"" + same + "\"");
}

std::string ComplaintOf(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return error.what();
  const CLI::App& command = DeepestParsed(app);
  for (const std::string& word : extra) {
    if (word.size() < 2 || word.front() != '-' || word == "--") continue;
    const std::string name = OptionOf(word);
    const std::vector<std::string> known = OptionNames(command);
    std::string meant = identity::DidYouMean(name, known);
    if (meant.empty()) {
      meant = OptionHint(name, known);
    }
    return CommandWords(command) + " has no option " + Quoted(name) + meant;
  }
  if (!command.get_subcommands(nullptr).empty()) {
    return NoSuchCommand(command, extra.front());
  }
  return CommandWords(command) + " does not expect " + Quoted(Joined(extra));
}

}  // namespace actord::client
