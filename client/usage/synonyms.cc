#include "client/usage/synonyms.h"

#include <algorithm>

#include "client/usage/complaint.h"
#include "identity/names/nearest.h"

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

const std::vector<OptionSynonym>& OptionSynonyms() {
  static const auto& synonyms = *new std::vector<OptionSynonym>{
      {"--for", "--older-than"},
      {"--age", "--older-than"},
      {"--longer-than", "--older-than"},
      {"--since", "--older-than"},
      {"--limit", "--tail"},
      {"--lines", "--tail"},
      {"--tail", "--limit"},
      {"--count", "--limit"},
      {"--max", "--limit"},
      {"-n", "--tail"},
      {"-n", "--limit"},
      {"-f", "--follow"},
      {"-w", "--watch"},
      {"--follow", "--watch"},
      {"--watch", "--follow"},
      {"--filter", "--type"},
      {"--sort", "--sort-by"},
      {"--host", "--address"},
      {"--server", "--address"},
      {"--endpoint", "--address"},
      {"--token", "--token-file"},
      {"--ca", "--tls-ca"},
      {"--ca-file", "--tls-ca"},
      {"--cert", "--tls-certificate"},
      {"--key", "--tls-key"},
      {"--format", "--output"},
      {"--json", "--output json"},
      {"--for", "--duration"},
      {"--durability", "--durable"},
      {"--yaml", "--output yaml"},
      {"-q", "--output name"},
  };
  return synonyms;
}

std::string OptionHint(const std::string& typed,
                       const std::vector<std::string>& known) {
  std::vector<std::string> typical;
  std::vector<std::string> meant;
  for (const OptionSynonym& synonym : OptionSynonyms()) {
    const std::string option(
        synonym.option.substr(0, synonym.option.find(' ')));
    if (std::find(known.begin(), known.end(), option) == known.end()) continue;
    typical.emplace_back(synonym.typed);
    meant.emplace_back(synonym.option);
  }
  const std::string nearest = identity::NearestName(typed, typical);
  const auto found = std::find(typical.begin(), typical.end(),
                               nearest.empty() ? typed : nearest);
  if (found == typical.end()) return "";
  return (*found == typed ? "; use \"" : "; did you mean \"") +
         meant[static_cast<size_t>(found - typical.begin())] +
         (*found == typed ? "\"" : "\"?");
}

}  // namespace actord::client
