// actorctl completion: scripts for shells. They ask "actorctl __complete WORD…"
// for the candidates, and offer files if its first line is kFilesLine.

#include <map>
#include <memory>
#include <string>

#include "client/commands/commands.h"

namespace actord::client {
namespace {

// Bash breaks words also at @, : and =, as COMP_WORDBREAKS and hostcomplete
// say, and replaces only the part behind the break, which it gives as $2. No
// word is expanded on its way.
constexpr char kBash[] =
    R"(# bash completion for actorctl; load it with: source <(actorctl completion bash)
_actorctl() {
  local line=${COMP_LINE:0:COMP_POINT} last before value candidate
  local -a words candidates
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  last=${words[${#words[@]} - 1]}
  mapfile -t candidates < <(actorctl __complete "${words[@]:1}" 2>/dev/null)
  if [[ ${candidates[0]-} == $'\tfiles' ]]; then
    candidates=("${candidates[@]:1}")
    value=${last#--*=}
    if [[ $value == @* ]]; then
      mapfile -t candidates < <(compgen -P "${last%"$value"}@" -f -- "${value#@}")
    else
      compopt -o default
    fi
  fi
  COMPREPLY=()
  before=${last%"$2"}
  for candidate in "${candidates[@]}"; do
    candidate=${candidate%%$'\t'*}
    COMPREPLY+=("${candidate#"$before"}")
  done
}
complete -F _actorctl actorctl
)";

constexpr char kZsh[] =
    R"(#compdef actorctl
# zsh completion for actorctl; load it, behind compinit, with:
#   source <(actorctl completion zsh)
_actorctl() {
  local line
  local -a lines described
  lines=("${(@f)$(actorctl __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == $'\tfiles' ]]; then
      compset -P '--*='
      compset -P '@'
      _files
      return
    fi
    [[ -n $line ]] || continue
    described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe actorctl described
}
if [[ $funcstack[1] == _actorctl ]]; then
  _actorctl "$@"
else
  compdef _actorctl actorctl
fi
)";

constexpr char kFish[] =
    R"(# fish completion for actorctl; load it with: actorctl completion fish | source
function __actorctl_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l candidates (actorctl __complete $words[2..-1] 2>/dev/null)
  if test "$candidates[1]" = \tfiles
    set -l before (string match -r -- '^(?:--[^=]*=)?@?' $words[-1])
    set -l path (string sub -s (math 1 + (string length -- "$before")) -- $words[-1])
    printf '%s\n' "$before"(__fish_complete_path "$path")
  else
    printf '%s\n' $candidates
  end
end
complete -c actorctl -f -a '(__actorctl_complete)'
)";

}  // namespace

void AddCompletion(CLI::App& app, Action& chosen) {
  static const auto& scripts = *new std::map<std::string, const char*>{
      {"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script for a shell");
  command->footer(
      "\nThe script completes commands, options and values. It asks the daemon "
      "for "
      "process\ntypes, methods, PIDs, names, tokens of yields and commands "
      "that "
      "wait.\n\nExamples:\n"
      "  source <(actorctl completion bash)      in ~/.bashrc\n"
      "  source <(actorctl completion zsh)       in ~/.zshrc, behind compinit\n"
      "  actorctl completion fish | source       in "
      "~/.config/fish/config.fish");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("bash|zsh|fish");
  command->callback([&chosen, shell] {
    chosen = [script = scripts.at(*shell)](Invocation& invocation) {
      invocation.out() << script;
      return ExitStatus::kDone;
    };
  });
}

}  // namespace actord::client
