#include "client/top/cells.h"

#include <actord/text.h>
#include <locale.h>

#include <cwchar>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/output/text.h"

namespace actord::client::top {
Cells::Cells(bool utf8)
    : locale_(utf8 ? newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr) : nullptr),
      utf8_(locale_ != nullptr) {}

Cells::~Cells() {
  if (locale_ != nullptr) freelocale(static_cast<locale_t>(locale_));
}

Cells::Character Cells::First(std::string_view text) const {
  const char first = text.front();
  if (first == '\n' || first == '\t' || first == '\r') return {" ", 1, 1};
  if (first >= ' ' && first <= '~') return {text.substr(0, 1), 1, 1};
  const size_t length = Utf8CharacterLength(text);
  if (length < 2 || !utf8_) return {"?", length == 0 ? 1 : length, 1};
  const char32_t code_point = Utf8CodePoint(text.substr(0, length));
  if (IsTerminalControl(code_point)) return {"?", length, 1};
  // wcwidth has no argument for a locale.
  const locale_t before = uselocale(static_cast<locale_t>(locale_));
  const int cells = wcwidth(static_cast<wchar_t>(code_point));
  uselocale(before);
  if (cells <= 0) return {"?", length, 1};
  return {text.substr(0, length), length, static_cast<size_t>(cells)};
}

size_t Cells::Width(std::string_view text) const {
  size_t width = 0;
  while (!text.empty()) {
    const Character character = First(text);
    width += character.cells;
    text.remove_prefix(character.taken_bytes);
  }
  return width;
}

std::string Cells::Clip(std::string_view text, size_t width) const {
  std::string line;
  size_t used = 0;
  // The place for the sign.
  size_t cut_at = 0;
  while (!text.empty()) {
    const Character character = First(text);
    if (used + 1 <= width) cut_at = line.size();
    if (used + character.cells > width) {
      line.resize(cut_at);
      return width == 0 ? "" : line + ellipsis();
    }
    line += character.shown;
    used += character.cells;
    text.remove_prefix(character.taken_bytes);
  }
  return line;
}

std::string Cells::Fit(std::string_view text, size_t width, Align align) const {
  std::string line = Clip(text, width);
  const size_t used = Width(line);
  const std::string padding(width > used ? width - used : 0, ' ');
  return align == Align::kRight ? padding + line : line + padding;
}

bool IsUtf8Terminal(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = absl::AsciiStrToLower(environment.variable(name));
    if (value.empty()) continue;
    return absl::StrContains(value, "utf-8") ||
           absl::StrContains(value, "utf8");
  }
  return false;
}

}  // namespace actord::client::top
