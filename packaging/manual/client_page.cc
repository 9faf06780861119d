#include <CLI/CLI.hpp>
#include <memory>
#include <string>
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
    page.Paragraph("actord(8)");
  });
  return page.text();
}

}  // namespace actord::manual
