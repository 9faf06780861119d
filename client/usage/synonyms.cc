#include "client/usage/synonyms.h"

#include "client/usage/complaint.h"

namespace actord::client {

const std::vector<Synonym>& Synonyms() {
  static const auto& synonyms = *new std::vector<Synonym>{
      {"list", "ps"},
      {"ls", "ps"},
      {"processes", "ps"},
      {"start", "submit"},
      {"run", "submit TYPE --wait"},
      {"spawn", "submit"},
      {"create", "submit"},
      {"kill", "cancel"},
      {"stop", "cancel"},
      {"rm", "cancel"},
      {"delete", "cancel"},
      {"remove", "cancel"},
      {"get", "describe"},
      {"show", "describe"},
      {"inspect", "describe"},
      {"info", "describe"},
      {"log", "logs"},
      {"tail", "logs"},
      {"events", "watch"},
      {"publish", "send"},
      {"emit", "send"},
      {"message", "send"},
      {"signal", "send"},
      {"ask", "call"},
      {"query", "call"},
      {"invoke", "call"},
      {"wait", "await"},
      {"result", "await"},
      {"worker", "work"},
      {"exec", "work"},
      {"tasks", "yields"},
      {"jobs", "yields"},
      {"connections", "clients"},
      {"errors", "failures"},
      {"stats", "status"},
      {"ping", "health"},
      {"load", "plugin load"},
      {"deploy", "plugin load"},
      {"cron", "schedule"},
      {"config", "context"},
      {"verify", "store verify"},
  };
  return synonyms;
}

const std::vector<Synonym>& SynonymsBelow() {
  static const auto& synonyms = *new std::vector<Synonym>{
      {"ls", "list"},       {"ps", "list"},       {"get", "show"},
      {"describe", "show"}, {"rm", "remove"},     {"rm", "drop"},
      {"rm", "revoke"},     {"delete", "remove"}, {"delete", "drop"},
      {"delete", "revoke"}, {"remove", "revoke"}, {"create", "add"},
      {"create", "new"},    {"new", "add"},       {"set", "add"},
      {"start", "resume"},  {"stop", "pause"},    {"check", "verify"},
  };
  return synonyms;
}

std::string CommandFor(const CLI::App& command, const std::string& word) {
  const bool is_top = command.get_parent() == nullptr;
  for (const Synonym& synonym : is_top ? Synonyms() : SynonymsBelow()) {
    const std::string meant(synonym.command);
    if (synonym.typed == word &&
        FindCommand(command, meant.substr(0, meant.find(' '))) != nullptr) {
      return meant;
    }
  }
  return "";
}

}  // namespace actord::client
