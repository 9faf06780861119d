#include "client/top/frame.h"

namespace actord::client::top {
namespace {

const char* CodeOf(Style style, bool colour) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kFaint:
      return "\x1b[2m";
    case Style::kReverse:
      return "\x1b[7m";
    case Style::kGood:
      return colour ? "\x1b[32m" : "";
    case Style::kWarning:
      return colour ? "\x1b[1;33m" : "\x1b[1m";
    case Style::kBad:
      return colour ? "\x1b[1;31m" : "\x1b[1m";
  }
  return "";
}

}  // namespace

std::string Encode(const Frame& frame, const Frame& before, bool colour) {
  // A line is cleared before it is written, because behind a full line there is
  // no cell from which to clear.
  std::string bytes = before.empty() ? "\x1b[H\x1b[2J" : "";
  for (size_t i = 0; i < frame.size(); ++i) {
    if (i < before.size() && before[i] == frame[i]) continue;
    bytes += "\x1b[" + std::to_string(i + 1) + ";1H\x1b[2K";
    for (const Span& span : frame[i]) {
      const std::string code = CodeOf(span.style, colour);
      bytes += code + span.text;
      if (!code.empty()) bytes += "\x1b[0m";
    }
  }
  if (before.size() > frame.size()) {
    bytes += "\x1b[" + std::to_string(frame.size() + 1) + ";1H\x1b[J";
  }
  return bytes;
}

std::string PlainText(const Frame& frame) {
  std::string text;
  for (const Line& line : frame) {
    for (const Span& span : line) text += span.text;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace actord::client::top
