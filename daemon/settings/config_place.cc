#include "daemon/settings/config_place.h"

#include <actord/text.h>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

constexpr size_t kMaxShownBytes = 100;

std::string_view Trimmed(std::string_view line) {
  constexpr const char* kBlanks = " \t\r";
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string InLine(std::string_view line, uint32_t column) {
  const std::string shown = ToUtf8(std::string(Trimmed(line)), kMaxShownBytes);
  if (shown.empty()) return "";
  return absl::StrCat(" (column ", column, " of: ", shown, ")");
}

std::string SyntaxMistake(std::string_view said) {
  const auto says = [said](std::string_view text) {
    return said.find(text) != std::string_view::npos;
  };
  if (says("parsing string") || says("parsing literal string")) {
    if (says("control characters") || says("end-of-file")) {
      return "the text has no closing quotation mark in its line";
    }
  }
  if (says("cannot redefine existing table")) {
    return "the section stands in the file twice: put all of its keys below "
           "one header";
  }
  if (says("cannot redefine existing")) {
    return "the key stands in its section twice: remove one of the lines";
  }
  if (says("could not determine value type") || says("digit, saw")) {
    return "the value is neither a number nor true or false, and texts, "
           "durations and sizes need quotation marks, as in \"30s\"";
  }
  return std::string(said);
}

}  // namespace actord::daemon
