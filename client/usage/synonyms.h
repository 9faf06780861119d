// The commands and options of actorctl for words that other programs use.
//
// Thread-safety: pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace actord::client {

struct Synonym {
  std::string_view typed;
  // A command of the same parent, and perhaps a command and arguments of it.
  std::string_view command;
};

// For words behind "actorctl", and for words behind a command that has
// commands.
const std::vector<Synonym>& Synonyms();
const std::vector<Synonym>& SynonymsBelow();

// "ps" for "list"; "": `command` has no command for this word, or the word is
// not known.
std::string CommandFor(const CLI::App& command, const std::string& word);

struct OptionSynonym {
  std::string_view typed;
  // An option of some commands, and perhaps a value.
  std::string_view option;
};
const std::vector<OptionSynonym>& OptionSynonyms();

// The end of a message: `; use "--older-than"` for "--for", or `; did you mean
// "--older-than"?` if `typed` has a letter wrong; "": none of `known`, the
// options of the command, is known under this name.
std::string OptionHint(const std::string& typed,
                       const std::vector<std::string>& known);

}  // namespace actord::client
