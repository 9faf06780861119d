#include "daemon/settings/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/settings/config_keys.h"
#include "identity/names/nearest.h"

namespace actord::daemon {
namespace {

// Columns of --help.
constexpr size_t kHelpIndent = 6;
constexpr size_t kHelpWidth = 80;

struct Flags {
  bool help = false;
  bool version = false;
  bool check_config = false;
  bool print_config = false;
};

CommandLine::Action ActionOf(const Flags& flags) {
  if (flags.help) return CommandLine::Action::kHelp;
  if (flags.version) return CommandLine::Action::kVersion;
  if (flags.check_config) return CommandLine::Action::kCheckConfig;
  if (flags.print_config) return CommandLine::Action::kPrintConfig;
  return CommandLine::Action::kRun;
}

absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

// Appends `text` in lines of at most kHelpWidth, indented by `indent` columns.
// Text without an indent follows an empty line.
void AppendWrapped(std::string_view text, size_t indent, std::string& out) {
  if (indent == 0) out += '\n';
  size_t column = 0;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ')) {
    if (column != 0 && column + 1 + word.size() > kHelpWidth) column = 0;
    if (column == 0) {
      absl::StrAppend(&out, out.ends_with('\n') ? "" : "\n",
                      std::string(indent, ' '), word);
      column = indent + word.size();
    } else {
      absl::StrAppend(&out, " ", word);
      column += 1 + word.size();
    }
  }
  out += '\n';
}

// Names the mistake, and the option that may have been meant. `app` has tried
// to parse the words.
std::string ComplaintOf(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extra = app.remaining();
  if (extra.empty()) return error.what();
  for (const std::string& word : extra) {
    if (word.size() < 2 || word.front() != '-' || word == "--") continue;
    // A value after = is not a part of the name.
    const std::string typed = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
    const std::string meant = identity::NearestName(typed, names);
    return absl::StrCat("there is no option ", typed,
                        meant.empty() ? "" : "; did you mean ", meant,
                        meant.empty() ? "" : "?");
  }
  return absl::StrCat("actord takes only options, and not \"", extra.front(),
                      "\"");
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments) {
  CLI::App app;
  // HelpText derives the help from the table of keys.
  app.set_help_flag();
  CommandLine result;
  Flags flags;
  app.add_flag("-h,--help", flags.help);
  app.add_flag("--version", flags.version);
  app.add_flag("--check-config", flags.check_config);
  app.add_flag("--print-config", flags.print_config);
  app.add_option("--config", result.config_file);
  app.add_option("--restore", result.restore);
  app.add_flag("--boot-tree-replace", result.replace_boot_tree);
  std::map<const ConfigKey*, std::vector<std::string>> texts;
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string name = absl::StrCat("--", std::string(key.option));
    if (key.is_flag) {
      // `--NAME` or `--NAME=false`.
      app.add_flag(name, texts[&key]);
    } else {
      app.add_option(name, texts[&key])->allow_extra_args(false);
    }
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(ComplaintOf(app, error));
  }
  // An empty variable of a script must not begin an empty store.
  if (app.count("--restore") != 0 && result.restore.empty()) {
    return absl::InvalidArgumentError(
        "--restore: name the directory of a backup; the text is empty");
  }
  result.action = ActionOf(flags);
  for (const ConfigKey& key : ConfigKeys()) {
    std::vector<std::string>& given = texts[&key];
    if (given.empty()) continue;
    std::string origin = absl::StrCat("--", std::string(key.option));
    result.values.push_back({&key, std::move(given), std::move(origin)});
  }
  Config scratch;
  const absl::Status status = ApplyConfigValues(result.values, scratch);
  if (!status.ok()) return status;
  return result;
}

const std::vector<PlainOption>& PlainOptions() {
  static const auto& options = *new std::vector<PlainOption>{
      {"-h, --help", "", "Print this help and exit."},
      {"--version", "", "Print the version and exit."},
      {"--config", "PATH", "Configuration file in TOML. [env ACTORD_CONFIG]"},
      {"--check-config", "",
       "Check the configuration, and if it is good, check the addresses, the "
       "store and the files that it names, and load the plugins as a start "
       "does. Report all errors of the step that fails, and exit. Changes "
       "nothing."},
      {"--print-config", "",
       "Print the settings that would be in force, as TOML, and exit."},
      {"--restore", "DIR",
       "Make the store of --store, which must not exist, from the backup in "
       "DIR, and start. \"actorctl backup\" makes backups."},
      {"--boot-tree-replace", "",
       "If the boot tree in the store was not started from the present text of "
       "the --boot-tree file, end it, and start the tree of the file. Without "
       "this option the tree in the store goes on."}};
  return options;
}

std::string_view PrecedenceText() {
  return "actord takes a setting from its option, else from its environment "
         "variable, else from the configuration file, else it uses the "
         "default. Give an option for a list once for each item; in its "
         "environment variable, separate the items by commas.";
}

const std::vector<ExitStatusText>& ExitStatusTexts() {
  static const auto& texts = *new std::vector<ExitStatusText>{
      {0, "clean"},
      {64, "wrong usage"},
      {69, "cannot listen"},
      {70, "internal error"},
      {74, "the store has failed"},
      {75, "processes had to be forced to end"},
      {78, "wrong configuration, plugin or store"}};
  return texts;
}

std::string HelpText() {
  std::string text =
      "actord hosts processes and serves them over gRPC.\n"
      "\n"
      "Usage: actord [OPTION]...\n";
  AppendWrapped(PrecedenceText(), 0, text);
  text += '\n';
  for (const PlainOption& option : PlainOptions()) {
    absl::StrAppend(&text, "  ", ToAbsl(option.name),
                    option.value.empty() ? "" : " ", ToAbsl(option.value),
                    "\n");
    AppendWrapped(option.doc, kHelpIndent, text);
  }
  const Config defaults;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.path.substr(0, key.path.find('.')) != section) {
      section = key.path.substr(0, key.path.find('.'));
      text += '\n';
    }
    absl::StrAppend(&text, "  --", std::string(key.option), " ",
                    std::string(key.value), "\n");
    AppendWrapped(
        absl::StrCat(std::string(key.doc), " [", std::string(key.path),
                     ", env ", EnvironmentName(key), ", default ",
                     key.print(defaults), "]"),
        kHelpIndent, text);
  }
  std::string statuses;
  for (const auto& [status, meaning] : ExitStatusTexts()) {
    absl::StrAppend(&statuses, statuses.empty() ? "Exit status: " : ", ",
                    status, " ", ToAbsl(meaning));
  }
  AppendWrapped(statuses + ".", 0, text);
  return text;
}

}  // namespace actord::daemon
