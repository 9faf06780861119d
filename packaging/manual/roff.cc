#include "packaging/manual/roff.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace actord::manual {
namespace {

constexpr size_t kWidth = 76;

absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

// Roff turns some characters into typographic ones, and a backslash begins an
// escape. A period or an apostrophe at the begin of a line begins a request;
// the apostrophe is escaped everywhere.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      case '|':
        // A list of choices may be longer than a line.
        escaped += "|\\:";
        break;
      case '"':
        // In the argument of a request, a plain one would end the argument.
        escaped += "\\(dq";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// `escaped` as a line that is no request.
std::string Line(const std::string& escaped) {
  return absl::StrCat(escaped.starts_with('.') ? "\\&" : "", escaped, "\n");
}

}  // namespace

// Lines are not filled to both margins, and no word is hyphenated, because the
// name of an option or a variable must stay in one piece.
RoffPage::RoffPage(const PageTitle& title)
    : text_(absl::StrCat(".\\\" Made by the build; changes are lost.\n.TH ",
                         Escaped(title.name), " ", title.section, " ",
                         title.date, " \"actord ", title.version,
                         "\" \"Manual of actord\"\n.ad l\n.nh\n")) {}

void RoffPage::Section(std::string_view heading) {
  absl::StrAppend(&text_, ".SH \"", Escaped(heading), "\"\n");
  begins_section_ = true;
}

void RoffPage::Subsection(std::string_view heading) {
  absl::StrAppend(&text_, ".SS \"", Escaped(heading), "\"\n");
  begins_section_ = true;
}

void RoffPage::Break() {
  if (!begins_section_) text_ += ".PP\n";
  begins_section_ = false;
}

void RoffPage::Paragraph(std::string_view text) {
  if (text.empty()) return;
  Break();
  AppendWrapped(text);
}

void RoffPage::Term(std::string_view name, std::string_view value,
                    std::string_view text) {
  begins_section_ = false;
  absl::StrAppend(&text_, ".TP\n\\fB", Escaped(name), "\\fR");
  if (!value.empty()) absl::StrAppend(&text_, " \\fI", Escaped(value), "\\fR");
  text_ += '\n';
  AppendWrapped(text);
}

void RoffPage::Lines(std::string_view text) {
  std::vector<std::string> lines =
      absl::StrSplit(absl::StripTrailingAsciiWhitespace(ToAbsl(text)), '\n');
  size_t first = 0;
  while (first < lines.size() && lines[first].empty()) ++first;
  if (first == lines.size()) return;
  Break();
  text_ += ".nf\n\\f(CR";
  for (size_t i = first; i < lines.size(); ++i) {
    text_ += lines[i].empty() ? "\\&\n" : Line(Escaped(lines[i]));
  }
  text_ += "\\fR\n.fi\n";
}

void RoffPage::AppendWrapped(std::string_view text) {
  std::string line;
  for (const absl::string_view word : absl::StrSplit(
           ToAbsl(text), absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const std::string escaped = Escaped({word.data(), word.size()});
    if (!line.empty() && line.size() + 1 + escaped.size() > kWidth) {
      text_ += Line(line);
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", escaped);
  }
  if (!line.empty()) text_ += Line(line);
}

}  // namespace actord::manual
