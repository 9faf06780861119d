// actorctl completion

#include <memory>
#include <sstream>
#include <string>

#include "client/commands/commands.h"

namespace actord::client {
namespace {

// The long and short option names of one command, as words.
std::string OptionWords(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) {
      words += "-" + name + " ";
    }
    for (const std::string& name : option->get_lnames()) {
      words += "--" + name + " ";
    }
  }
  return words;
}

// Offers the choices that an option's type name lists, as in "drain|now".
void AppendChoices(const CLI::App& app, std::ostream& out) {
  for (const CLI::Option* option : app.get_options()) {
    std::string choices = option->get_type_name();
    if (choices.find('|') == std::string::npos) continue;
    for (char& c : choices) {
      if (c == '|') c = ' ';
    }
    std::string names;
    for (const std::string& name : option->get_snames())
      names += "-" + name + "|";
    for (const std::string& name : option->get_lnames())
      names += "--" + name + "|";
    names.pop_back();
    out << "    " << names << ") COMPREPLY=($(compgen -W \"" << choices
        << "\" -- \"$word\")); return ;;\n";
  }
}

// Writes the words that the script offers for one command.
void AppendCommand(const CLI::App& command, std::ostream& out) {
  std::string options = OptionWords(command);
  std::string nested;
  for (const CLI::App* one : command.get_subcommands(nullptr)) {
    options += OptionWords(*one);
    nested += one->get_name() + " ";
  }
  out << "    " << command.get_name() << ") words+=\" " << options << "\"";
  if (!nested.empty()) out << " nested=\"" << nested << "\"";
  out << " ;;\n";
}

std::string BashScript(const CLI::App& app) {
  std::string names;
  std::ostringstream choices;
  std::ostringstream options;
  AppendChoices(app, choices);
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names += command->get_name() + " ";
    AppendChoices(*command, choices);
    for (const CLI::App* one : command->get_subcommands(nullptr)) {
      AppendChoices(*one, choices);
    }
    AppendCommand(*command, options);
  }
  return R"(# bash completion for actorctl; load it with: source <(actorctl completion bash)
_actorctl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local commands=")" +
         names + R"(" words=")" + OptionWords(app) + R"(" command= nested= i
  COMPREPLY=()
  case $before in
)" + choices.str() +
         R"(  esac
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  case $command in
    '') words+=" $commands" ;;
)" + options.str() +
         R"(  esac
  if [[ $word == @* ]]; then
    COMPREPLY=($(compgen -P @ -f -- "${word#@}"))
  elif [[ -n $nested && $word != -* && $before == "$command" ]]; then
    COMPREPLY=($(compgen -W "$nested" -- "$word"))
  elif [[ $word == -* || -z $command ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}
complete -o default -F _actorctl actorctl
)";
}

}  // namespace

void AddCompletion(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script for a shell");
  command->footer(
      "\nExample, for ~/.bashrc:\n  source <(actorctl completion bash)");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash"}).description(""))
      ->type_name("bash");
  command->callback([&app, &chosen, shell] {
    chosen = [script = BashScript(app)](Invocation& invocation) {
      invocation.out() << script;
      return ExitStatus::kDone;
    };
  });
}

}  // namespace actord::client
