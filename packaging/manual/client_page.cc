#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/app.h"
#include "client/usage/complaint.h"
#include "packaging/manual/pages.h"
#include "packaging/manual/roff.h"

namespace actord::manual {
namespace {

// A footer consists of paragraphs, whose lines begin with a letter, and of
// lines that are indented, such as examples.
void AddFooter(const std::string& footer, RoffPage& page) {
  std::string prose;
  std::string lines;
  const auto flush = [&] {
    page.Paragraph(prose);
    page.Lines(lines);
    prose.clear();
    lines.clear();
  };
  for (const absl::string_view line : absl::StrSplit(footer, '\n')) {
    const bool is_indented = absl::StartsWith(line, " ");
    if (line.empty() || is_indented != !lines.empty()) flush();
    if (is_indented) {
      absl::StrAppend(&lines, line, "\n");
    } else if (!line.empty()) {
      absl::StrAppend(&prose, line, " ");
    }
  }
  flush();
}

// The parser has no public function for the whole text of an option.
class OptionTexts : public CLI::Formatter {
 public:
  static void Add(const CLI::Option& option, RoffPage& page) {
    const OptionTexts texts;
    const bool is_positional = option.get_positional();
    page.Term(texts.make_option_name(&option, is_positional),
              std::string(
                  absl::StripAsciiWhitespace(texts.make_option_opts(&option))),
              texts.make_option_desc(&option));
  }
};

void AddOptions(const CLI::App& command, RoffPage& page) {
  for (const bool is_positional : {true, false}) {
    for (const CLI::Option* const option : command.get_options()) {
      if (option->get_positional() != is_positional) continue;
      // Every command has it; a hidden option has no group.
      if (option == command.get_help_ptr() || option->get_group().empty()) {
        continue;
      }
      OptionTexts::Add(*option, page);
    }
  }
}

std::string UsageOf(const CLI::App& command) {
  const auto formatter =
      std::dynamic_pointer_cast<CLI::Formatter>(command.get_formatter());
  const std::string usage =
      formatter->make_usage(&command, client::CommandWords(command));
  return std::string(
      absl::StripAsciiWhitespace(absl::StripPrefix(usage, "Usage:")));
}

bool HasOptions(const CLI::App& command) {
  const std::vector<const CLI::Option*> options = command.get_options();
  return std::any_of(
      options.begin(), options.end(), [&command](const CLI::Option* option) {
        return option != command.get_help_ptr() && !option->get_group().empty();
      });
}

void AddCommand(const CLI::App& command, RoffPage& page) {
  page.Subsection(client::CommandWords(command));
  page.Paragraph(command.get_description() + ".");
  page.Lines(UsageOf(command));
  AddOptions(command, page);
  AddFooter(command.get_footer(), page);
  for (const CLI::App* const next : command.get_subcommands(nullptr)) {
    AddCommand(*next, page);
  }
}

// "actorctl-submit".
std::string PageName(const CLI::App& command) {
  return "actorctl-" + command.get_name();
}

std::string CommandPage(const CLI::App& command, const Edition& edition) {
  const std::string name = PageName(command);
  RoffPage page({name, 1, edition.date, edition.version});
  page.Section("NAME");
  page.Paragraph(name + " - " + command.get_description());
  page.Section("SYNOPSIS");
  page.Lines(UsageOf(command));
  page.Section("DESCRIPTION");
  page.Paragraph(command.get_description() + ".");
  AddFooter(command.get_footer(), page);
  page.Section("OPTIONS");
  if (HasOptions(command)) AddOptions(command, page);
  page.Paragraph(
      "actorctl(1) has the options of all commands, such as --address and -o, "
      "the environment and the exit statuses.");
  const std::vector<const CLI::App*> below = command.get_subcommands(nullptr);
  if (!below.empty()) page.Section("COMMANDS");
  for (const CLI::App* const next : below) AddCommand(*next, page);
  page.Section("SEE ALSO");
  page.Paragraph("actorctl(1), actord(8)");
  return page.text();
}

}  // namespace

std::string ClientPage(const Edition& edition) {
  RoffPage page({"actorctl", 1, edition.date, edition.version});
  client::VisitCommands([&page](const CLI::App& app) {
    page.Section("NAME");
    page.Paragraph("actorctl - control the daemon actord");
    page.Section("SYNOPSIS");
    page.Paragraph("actorctl [OPTIONS] COMMAND [ARGUMENTS]");
    page.Section("DESCRIPTION");
    page.Paragraph(app.get_description());
    page.Paragraph(
        "Options of all commands may stand before or behind the "
        "command. \"actorctl help COMMAND\" prints the same text "
        "as this page.");
    page.Section("OPTIONS");
    AddOptions(app, page);
    page.Section("NOTES");
    AddFooter(app.get_footer(), page);
    page.Section("COMMANDS");
    for (const CLI::App* const command : app.get_subcommands(nullptr)) {
      AddCommand(*command, page);
    }
    page.Section("SEE ALSO");
    std::string others = "actord(8)";
    for (const CLI::App* const command : app.get_subcommands(nullptr)) {
      absl::StrAppend(&others, ", ", PageName(*command), "(1)");
    }
    page.Paragraph(others);
  });
  return page.text();
}

std::vector<std::pair<std::string, std::string>> CommandPages(
    const Edition& edition) {
  std::vector<std::pair<std::string, std::string>> pages;
  client::VisitCommands([&](const CLI::App& app) {
    for (const CLI::App* const command : app.get_subcommands(nullptr)) {
      pages.emplace_back(PageName(*command) + ".1",
                         CommandPage(*command, edition));
    }
  });
  return pages;
}

}  // namespace actord::manual
